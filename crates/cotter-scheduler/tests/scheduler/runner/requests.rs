//! Requests whose traces in the store are lost, or were never completed.

use super::world::{MS, Replica, S, World, sleep};
use cotter_scheduler::{Jobs, OneShot, Trigger};
use cotter_testkit::forgetful::{Forgetful, Losses};

/// Several times the interval at which everything is read.
const LONG: u32 = 1000;

async fn start(world: &World, losses: &Losses, every: u32) -> (Replica, Jobs) {
    let client = world.client_of(|store| Forgetful::new(store, "g", losses)).await;
    let job = world.log.job("a", Trigger::fixed_rate(S * every).unwrap(), MS);
    let replica = world.start_on(client, |s| s.job(job), S);
    sleep(S).await;
    let jobs = Jobs::new(&replica.client, "g").by("alice");
    (replica, jobs)
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_the_store_has_lost_ends() {
    let (world, losses) = (World::new(), Losses::default());
    let (replica, jobs) = start(&world, &losses, 10).await;
    jobs.pause_all().await.unwrap();
    sleep(S * 60).await;
    let count = world.log.count();
    losses.lose_all();
    sleep(S * 100).await;
    assert!(world.log.count() > count, "{:?}", world.log.told());
    replica.stop().await;
}

/// The revision of a note that is lost begins anew, so that the new one may look like the one that was seen.
#[tokio::test(start_paused = true)]
async fn a_request_is_seen_when_the_note_before_it_was_lost() {
    let (world, losses) = (World::new(), Losses::default());
    let (replica, jobs) = start(&world, &losses, 10).await;
    jobs.trigger("a").await.unwrap();
    sleep(S * 5).await;
    losses.lose_all();
    jobs.pause("a").await.unwrap();
    sleep(S * 100).await;
    let count = world.log.count();
    sleep(S * LONG).await;
    assert_eq!(world.log.count(), count, "{:?}", world.log.told());
    replica.stop().await;
}

/// Whoever makes a request writes it, and then the note that runners watch. It may die in between.
#[tokio::test(start_paused = true)]
async fn a_request_that_runners_were_not_told_of_is_found() {
    let (world, losses) = (World::new(), Losses::default());
    let (replica, jobs) = start(&world, &losses, 86_400).await;
    losses.refuse(Some("group"));
    jobs.trigger("a").await.unwrap_err();
    jobs.add("a", OneShot::after(S)).await.unwrap_err();
    losses.refuse(None);
    sleep(S * LONG).await;
    assert_eq!(world.log.count(), 3, "{:?}", world.log.told());
    replica.stop().await;
}

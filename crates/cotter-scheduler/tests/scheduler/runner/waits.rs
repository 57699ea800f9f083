//! Jobs that wait for a lock or a limit that others hold.

use super::world::{MS, S, World, sleep};
use cotter_scheduler::{JobStatus, Jobs, Trigger};
use cotter_testkit::history::{Kind, demand};

async fn only(jobs: &Jobs) -> JobStatus {
    let mut all = jobs.list().await.unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// However long it waits, and whoever holds the lock meanwhile.
#[tokio::test(start_paused = true)]
async fn a_job_is_listed_as_waiting_for_as_long_as_it_does() {
    let world = World::new();
    let client = world.client().await;
    let jobs = Jobs::new(&client, "g");
    let job = world.log.job("a", Trigger::fixed_rate(S).unwrap(), MS).lock("x");
    let one = world.start(|s| s.host("h").job(job)).await;
    sleep(S * 3).await;
    let first = client.mutex("x").lock().await.unwrap();
    sleep(S * 4).await;
    assert_eq!(only(&jobs).await.waits, [], "it has only just begun");
    sleep(S * 600).await;
    let waits = only(&jobs).await.waits;
    let now = jobs.now().await.unwrap();
    assert_eq!(waits.len(), 1, "{waits:?}");
    assert_eq!((&*waits[0].lock, waits[0].host.as_deref()), ("x", Some("h")));
    assert!(waits[0].held_by.is_some(), "{waits:?}");
    let (waited, silent) = (now.since(waits[0].since), now.since(waits[0].seen));
    assert!(waited > S * 600 && silent <= S * 62, "{waited:?}, {silent:?}");
    first.finish().await.unwrap();
    sleep(S * 3).await;
    let status = only(&jobs).await;
    demand(
        status.waits.is_empty(),
        Kind::LeftBehind,
        format!("it runs, and is listed as waiting: {status:?}"),
    );
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_that_was_killed_while_it_waited_is_soon_not_listed() {
    let world = World::new();
    let client = world.client().await;
    let jobs = Jobs::new(&client, "g");
    let job = world.log.job("a", Trigger::fixed_rate(S).unwrap(), MS).limit("x", 1);
    let one = world.start(|s| s.host("h").job(job)).await;
    sleep(S * 3).await;
    let permit = client.semaphore("x", 1).acquire().await.unwrap();
    sleep(S * 30).await;
    assert_eq!(only(&jobs).await.waits.len(), 1);
    one.kill().await;
    sleep(S * 150).await;
    let status = only(&jobs).await;
    demand(
        status.waits.is_empty(),
        Kind::LeftBehind,
        format!("who is gone is listed as waiting: {status:?}"),
    );
    assert!(status.overdue_since.is_some(), "and the job is overdue: {status:?}");
    let _ = permit.release().await.unwrap();
}

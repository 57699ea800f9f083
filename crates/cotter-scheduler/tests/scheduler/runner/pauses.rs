//! Pauses that end by themselves.

use super::world::{MS, S, World, sleep};
use cotter_scheduler::{EventKind, Jobs, Trigger};
use cotter_testkit::history::{Kind, demand};

/// Nobody has to be there to resume.
#[tokio::test(start_paused = true)]
async fn a_pause_ends_by_itself() {
    let world = World::new();
    let job = |name| world.log.job(name, Trigger::fixed_rate(S).unwrap(), MS);
    let replica = world.start(|s| s.jobs([job("a"), job("b")])).await;
    sleep(MS * 500).await;
    let jobs = Jobs::new(&replica.client, "g").by("alice");
    let started = jobs.list().await.unwrap()[0].first_started;
    // From half past 0 to half past 20, and for both jobs to half past 10.
    jobs.clone().lasting(S * 20).pause("b").await.unwrap();
    let group = jobs.clone().lasting(S * 10).pause_all().await.unwrap();
    let pause = group.pause.expect("it is paused");
    assert_eq!(pause.until, pause.since.map(|since| since + S * 10));
    sleep(MS * 9_400).await;
    assert_eq!(world.log.count(), 2, "{:?}", world.log.told());
    sleep(S * 5).await;
    let runs = |name| world.log.starts().iter().filter(|start| start.job == name).count();
    demand(runs("a") == 5, Kind::SlotMissing, format!("slots 11 to 14, but there were {} runs", runs("a")));
    assert_eq!(runs("b"), 1, "its own pause goes on");
    let status = &jobs.list().await.unwrap()[1];
    assert_eq!((status.paused, status.paused_until), (true, status.paused_since.map(|since| since + S * 20)));
    assert!(world.log.told().iter().any(|told| told == "no longer paused"), "{:?}", world.log.told());
    // One that starts during the pause knows its end as well.
    replica.stop().await;
    let replica = world.start(|s| s.jobs([job("a"), job("b")])).await;
    sleep(S * 8).await;
    demand(runs("b") > 1, Kind::SlotMissing, format!("the pause of b goes on: {:?}", world.log.told()));
    assert_eq!(world.log.events(|e| matches!(e, EventKind::Missed { .. })), 0, "{:?}", world.log.told());
    // And where no scheduler runs that would end it, it has ended all the same.
    let paused = jobs.clone().lasting(S * 10).pause("a").await.unwrap().pause.expect("it is paused");
    replica.stop().await;
    sleep(S * 30).await;
    let status = &jobs.list().await.unwrap()[0];
    let next = status.next_slot.expect("it is not paused");
    assert!(!status.paused && Some(next) >= paused.until && next < paused.until.unwrap() + S, "{status:?}");
    assert_eq!(next.since(started).subsec_nanos(), 0, "it is a slot of the job");
    assert!(!jobs.resume("a").await.unwrap().changed, "there is nothing to resume");
}

/// Whoever has asked for the longer one relies on it.
#[tokio::test(start_paused = true)]
async fn of_two_pauses_the_one_that_ends_later_counts() {
    let world = World::new();
    let replica = world.start(|s| s.job(world.log.job("a", Trigger::fixed_rate(S).unwrap(), MS))).await;
    sleep(MS * 500).await;
    let by = |who: &str| Jobs::new(&replica.client, "g").by(who);
    assert!(by("alice").lasting(S * 10).pause("a").await.unwrap().changed);
    let shorter = by("bob").lasting(S * 5).pause("a").await.unwrap();
    assert_eq!((shorter.changed, shorter.pause.unwrap().by.as_str()), (false, "alice"));
    assert!(by("carol").lasting(S * 20).pause("a").await.unwrap().changed);
    sleep(S * 15).await;
    assert_eq!(world.log.count(), 1, "{:?}", world.log.told());
    assert!(by("dave").pause("a").await.unwrap().changed, "until somebody resumes");
    sleep(S * 15).await;
    assert_eq!(world.log.count(), 1, "{:?}", world.log.told());
    by("dave").resume("a").await.unwrap();
    sleep(S * 2).await;
    assert_eq!(world.log.count(), 3, "{:?}", world.log.told());
    replica.stop().await;
}

//! Fixed rates and delays: exact start times.

use super::world::{MS, S, World, assert_times, sleep};
use cotter_scheduler::{EventKind, Job, Trigger};
use std::time::Duration;
use tokio::time::Instant;

fn every(period: Duration) -> Trigger {
    Trigger::fixed_rate(period).unwrap()
}

/// Every second, with a first run that takes too long and others that catch up.
fn slow_at_first(world: &World, first: Duration, others: Duration) -> Job {
    let log = world.log.clone();
    Job::new("a", every(S), move |run| {
        let log = log.clone();
        async move {
            log.add("a", &run);
            sleep(if log.count() == 1 { first } else { others }).await;
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_backlog_follows_back_to_back_and_none_is_dropped() {
    let (world, begin) = (World::new(), Instant::now());
    let job = slow_at_first(&world, S * 4, S / 10);
    // What is overdue under the hold that ran the last slot is not late.
    let replica = world.start(|s| s.job(job.late_within(S / 2))).await;
    sleep(S * 7 - S / 2).await;
    replica.stop().await;
    assert_times(&world.log.millis(begin), &[0, 4000, 4100, 4200, 4300, 5000, 6000]);
    let slots = world.log.starts();
    for pair in slots.windows(2) {
        assert_eq!(pair[1].slot.since(pair[0].slot), S, "each slot once");
    }
    assert_eq!(world.log.events(|e| matches!(e, EventKind::Merged { .. } | EventKind::Missed { .. })), 0);
}

#[tokio::test(start_paused = true)]
async fn a_backlog_beyond_the_most_is_merged() {
    let (world, begin) = (World::new(), Instant::now());
    let job = slow_at_first(&world, S * 10 + MS * 500, MS * 10);
    let replica = world.start(|s| s.job(job.max_backlog(3))).await;
    sleep(S * 11 + MS * 500).await;
    replica.stop().await;
    assert_times(&world.log.millis(begin), &[0, 10_500, 10_510, 10_520, 11_000]);
    assert_eq!(world.log.events(|e| *e == EventKind::Merged { n: 7 }), 1, "{:?}", world.log.told());
}

#[tokio::test(start_paused = true)]
async fn initial_delay_and_jitter() {
    let (world, begin) = (World::new(), Instant::now());
    let delayed = world.log.job("delayed", every(S * 10), MS).initial_delay(S * 7);
    let replica = world.start(|s| s.job(delayed)).await;
    sleep(S * 28).await;
    replica.stop().await;
    assert_times(&world.log.millis(begin), &[7000, 17_000, 27_000]);

    let (world, begin) = (World::new(), Instant::now());
    let jobs = ["x", "why", "zed"].map(|name| world.log.job(name, every(S * 10), MS).jitter(S * 8));
    let replica = world.start(|s| s.jobs(jobs)).await;
    sleep(S * 29).await;
    replica.stop().await;
    let is_late = |e: &EventKind| matches!(e, EventKind::Started { late, .. } if *late > MS * 20);
    assert_eq!(world.log.events(is_late), 0, "the jitter does not count");
    let starts = world.log.starts();
    for name in ["x", "why", "zed"] {
        let own: Vec<_> = starts.iter().filter(|s| s.job == name).collect();
        let offset = (own[0].at - begin).as_millis() as u64;
        let times: Vec<u64> = own.iter().map(|s| (s.at - begin).as_millis() as u64).collect();
        assert_times(&times, &[offset, offset + 10_000, offset + 20_000]);
        assert!(own[1].slot.since(own[0].slot) == S * 10, "the slots are where they were");
    }
    let mut offsets: Vec<u64> = world.log.millis(begin)[..3].to_vec();
    offsets.dedup_by_key(|ms| *ms / 100);
    assert_eq!(offsets.len(), 3, "they differ: {offsets:?}");
}

#[tokio::test(start_paused = true)]
async fn fixed_delay_counts_from_the_end_on_any_replica() {
    let (world, begin) = (World::new(), Instant::now());
    let job = world.log.job("a", Trigger::fixed_delay(S * 5).unwrap(), S * 2);
    let one = world.start(|s| s.job(job.clone())).await;
    sleep(S * 8).await;
    one.stop().await;
    let two = world.start(|s| s.job(job.clone())).await;
    let three = world.start(|s| s.job(job)).await;
    sleep(S * 16).await;
    two.stop().await;
    three.stop().await;
    assert_times(&world.log.millis(begin), &[0, 7000, 14_000, 21_000]);
}

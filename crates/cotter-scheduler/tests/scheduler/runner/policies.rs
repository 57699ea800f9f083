//! Slots that cannot be run when they are due.

use super::world::{MS, S, World, assert_times, sleep};
use cotter_scheduler::{Busy, EventKind, Job, Misfire, Trigger};
use std::time::Duration;
use tokio::time::Instant;

fn every(period: Duration) -> Trigger {
    Trigger::fixed_rate(period).unwrap()
}

fn missed(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Missed { .. })
}

/// Runs a job, leaves it alone for a while, and runs it again: what was started then, in milliseconds from the return.
async fn after_a_gap(world: &World, job: Job, gap: Duration) -> Vec<u64> {
    let first = world.start(|s| s.job(job.clone())).await;
    sleep(MS * 500).await;
    first.stop().await;
    let before = world.log.count();
    sleep(gap).await;
    let begin = Instant::now();
    let second = world.start(|s| s.job(job)).await;
    sleep(S * 9 + MS * 700).await;
    second.stop().await;
    world.log.millis(begin)[before..].to_vec()
}

#[tokio::test(start_paused = true)]
async fn missed_slots_are_dropped_run_once_or_all() {
    // The grid is 10 s; the return is at 45.5 s, so the slots at 10, 20, 30 and 40 s were missed.
    let cases = [
        (Misfire::Skip, S, vec![4500], 1),
        (Misfire::Once, S, vec![0, 4500], 1),
        (Misfire::All, S, vec![0, 100, 200, 300, 4500], 0),
        (Misfire::Skip, S * 20, vec![0, 4500], 1),
        (Misfire::Once, S * 20, vec![0, 4500], 1),
    ];
    for (misfire, late_within, wanted, told) in cases {
        let world = World::new();
        let job = world.log.job("a", every(S * 10), MS * 100).misfire(misfire).late_within(late_within);
        assert_times(&after_a_gap(&world, job, S * 45).await, &wanted);
        assert_eq!(world.log.events(missed), told, "{misfire:?} {:?}", world.log.told());
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_older_than_the_misfire_window_is_missed() {
    // The return is at 45.5 s: the slots at 10 and 20 s are too old for a window of 20 s, those at 30 and 40 s are not.
    let cases = [
        (Misfire::Skip, S * 20, vec![4500], 4),
        (Misfire::Once, S * 20, vec![0, 4500], 3),
        (Misfire::All, S * 20, vec![0, 100, 4500], 2),
        (Misfire::All, S, vec![4500], 4),
    ];
    for (misfire, window, wanted, n) in cases {
        let world = World::new();
        let job = world.log.job("a", every(S * 10), MS * 100).misfire(misfire).misfire_window(window);
        let job = job.late_within(S);
        assert_times(&after_a_gap(&world, job, S * 45).await, &wanted);
        let told = || format!("violation[unseen]: {misfire:?} {:?}", world.log.told());
        assert_eq!(world.log.events(|kind| *kind == EventKind::Missed { n, more: false }), 1, "{}", told());
        assert_eq!(world.log.events(missed), 1, "{}", told());
    }
}

#[tokio::test(start_paused = true)]
async fn cron_slots_that_pass_while_it_runs_are_skipped() {
    let world = World::new();
    let job = world.log.job("a", Trigger::cron("* * * * * ?").unwrap(), S * 3 + MS * 500);
    let replica = world.start(|s| s.job(job)).await;
    sleep(S * 12 + MS * 900).await;
    replica.stop().await;
    let starts = world.log.starts();
    assert!(starts.windows(2).all(|p| p[1].slot.since(p[0].slot) == S * 4), "{:?}", world.log.slots());
    assert!(
        world.log.events(|e| *e == EventKind::Skipped { n: 3, more: false }) >= 2,
        "{:?}",
        world.log.told()
    );
    assert_eq!(world.log.events(missed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_busy_lock_is_waited_for_or_left() {
    for (busy, count) in [(Busy::Wait, 1), (Busy::Skip, 0)] {
        let (world, begin) = (World::new(), Instant::now());
        let other = world.client().await;
        let held = other.mutex("g/a").lock().await.unwrap();
        let job = world.log.job("a", every(S * 3600), MS).busy(busy);
        let replica = world.start(|s| s.job(job)).await;
        sleep(S * 40).await;
        held.finish().await.unwrap();
        sleep(S * 10).await;
        assert_eq!(world.log.count(), count, "{busy:?}");
        if busy == Busy::Wait {
            assert_times(&world.log.millis(begin), &[40_000]);
        }
        assert_eq!(world.log.events(|e| *e == EventKind::Busy), 1 - count, "{:?}", world.log.told());
        replica.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_was_left_to_another_does_not_cost_the_next_ones() {
    let (world, begin) = (World::new(), Instant::now());
    let job = world.log.job("a", every(S * 2), MS).busy(Busy::Skip).late_within(S);
    let replica = world.start(|s| s.job(job)).await;
    sleep(S).await;
    let held = world.client().await.mutex("g/a").lock().await.unwrap();
    sleep(S * 4).await;
    held.finish().await.unwrap();
    sleep(S * 2).await;
    replica.stop().await;
    assert_times(&world.log.millis(begin), &[0, 6000]);
}

#[tokio::test(start_paused = true)]
async fn once_at_runs_once_wherever() {
    let world = World::new();
    let one = world.start(|s| s).await;
    let at = one.handle.now() + S * 10;
    let job = world.log.job("a", Trigger::once_at(at).unwrap(), MS);
    one.handle.replace([job.clone()]).await.unwrap();
    let two = world.start(|s| s.job(job.clone())).await;
    sleep(S * 30).await;
    one.stop().await;
    two.stop().await;
    let late = world.start(|s| s.job(job)).await;
    sleep(S * 30).await;
    assert_eq!(late.handle.next().await[0].at, None, "it never comes again");
    late.stop().await;
    assert_eq!(world.log.starts().iter().map(|s| s.slot).collect::<Vec<_>>(), [at]);
}

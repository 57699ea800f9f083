//! Definitions that change: rolling deployments and reloads.

use super::world::{MS, Replica, S, World, assert_times, sleep};
use cotter_scheduler::{Busy, EventKind, Job, Trigger};
use std::time::Duration;
use tokio::time::Instant;

fn every(period: Duration) -> Trigger {
    Trigger::fixed_rate(period).unwrap()
}

async fn stands(replica: &Replica) -> bool {
    sleep(S * 3).await;
    !replica.handle.next().await.is_empty()
}

#[tokio::test(start_paused = true)]
async fn jobs_are_added_and_removed_one_by_one() {
    let world = World::new();
    let job = |name, every| world.log.job(name, Trigger::fixed_rate(every).unwrap(), MS);
    let replica = world.start(|s| s.job(job("a", S))).await;
    sleep(S + MS * 500).await;
    replica.handle.put(job("b", S)).await.unwrap();
    sleep(S).await;
    let count = |name| world.log.starts().iter().filter(|start| start.job == name).count();
    assert_eq!((count("a"), count("b")), (3, 1), "the others are not affected");
    replica.handle.put(job("b", S * 10)).await.unwrap();
    assert!(replica.handle.remove("a").await.unwrap());
    assert!(!replica.handle.remove("a").await.unwrap(), "it is gone");
    sleep(S * 9).await;
    assert_eq!(count("a"), 3);
    assert!(count("b") <= 2, "its period is longer: {:?}", world.log.slots());
    let names: Vec<_> = replica.handle.next().await.into_iter().map(|next| next.job.to_string()).collect();
    assert_eq!(names, ["b"]);
    let listed = cotter_scheduler::Jobs::new(&replica.client, "g").list().await.unwrap();
    assert_eq!(listed.len(), 2, "a job that was added is listed");
    let handle = replica.handle.clone();
    replica.stop().await;
    assert!(handle.put(job("c", S)).await.is_err() && handle.remove("b").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn of_two_definitions_the_larger_generation_wins_then_the_newer_start() {
    let world = World::new();
    // The work says whose it is; the definitions differ, as two command lines would.
    let named = |by: &'static str, generation| {
        let log = world.log.clone();
        let job = Job::new("a", every(S), move |run| {
            log.add(by, &run);
            async {}
        });
        job.definition(by).generation(generation)
    };
    let old = world.start(|s| s.job(named("old", 1))).await;
    assert!(stands(&old).await);
    let new = world.start(|s| s.job(named("new", 1))).await;
    assert!(stands(&new).await);
    let by = |from: usize| {
        let starts = world.log.starts();
        let mut by: Vec<_> = starts[from..].iter().map(|s| s.job).collect();
        by.dedup();
        by
    };
    assert_eq!(by(0), ["old", "new"], "a newer start takes over and keeps it");
    let third = world.start(|s| s.job(named("small", 0))).await;
    let count = world.log.count();
    sleep(S * 3).await;
    assert_eq!(by(count), ["new"], "a smaller generation does not");
    let told = |e: &EventKind| matches!(e, EventKind::Standby { .. });
    assert_eq!(world.log.events(told), 2, "{:?}", world.log.told());
    old.handle.replace([named("old", 2)]).await.unwrap();
    let count = world.log.count();
    sleep(S * 3).await;
    assert_eq!(by(count), ["old"], "a larger one does, also by a reload");
    let slots: std::collections::HashSet<_> = world.log.starts().iter().map(|s| s.slot).collect();
    assert_eq!(slots.len(), world.log.count(), "no slot twice");
    for replica in [old, new, third] {
        replica.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_reload_keeps_what_is_the_same_and_lets_runs_end() {
    let (world, begin) = (World::new(), Instant::now());
    let long = world.log.job("long", every(S * 100), S * 20);
    let same = world.log.job("same", every(S * 10), MS);
    let replica = world.start(|s| s.jobs([long, same.clone()])).await;
    sleep(S * 5).await;
    let added = world.log.job("added", every(S * 100), MS);
    replica.handle.replace([same, added]).await.unwrap();
    sleep(S * 20).await;
    let mut names: Vec<_> = replica.handle.next().await.into_iter().map(|n| n.job.to_string()).collect();
    names.sort();
    assert_eq!(names, ["added", "same"]);
    assert_times(&world.log.millis(begin), &[0, 0, 5000, 10_000, 20_000]);
    let jobs = cotter_scheduler::Jobs::new(&replica.client, "g");
    let history = jobs.history("long").await.unwrap();
    assert_eq!(history.iter().map(|e| e.ending.word()).collect::<Vec<_>>(), ["ok"], "it was left to end");
    let twice = world.log.job("added", every(S), MS);
    let error = replica.handle.replace([twice.clone(), twice]).await.unwrap_err();
    assert_eq!(error.to_string(), "job \"added\": two jobs have this name; rename one of them");
    replica.stop().await;
}

/// A reload that changes nothing comes first: the slot that waits belongs to the job before it.
#[tokio::test(start_paused = true)]
async fn a_removed_job_does_not_run_when_its_lock_becomes_free() {
    let world = World::new();
    let job = || world.log.job("a", every(S * 100), MS);
    let replica = world.start(|s| s).await;
    let held = world.client().await.mutex("g/a").lock().await.unwrap();
    replica.handle.put(job()).await.unwrap();
    sleep(S).await;
    replica.handle.put(job()).await.unwrap();
    assert!(replica.handle.remove("a").await.unwrap());
    held.finish().await.unwrap();
    sleep(S * 30).await;
    assert_eq!(world.log.count(), 0, "{:?}", world.log.slots());
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_removed_and_put_back_during_a_run_waits_for_its_end() {
    let world = World::new();
    let job = |takes| world.log.job("a", every(S * 30), takes).busy(Busy::Skip);
    let replica = world.start(|s| s.job(job(S * 20))).await;
    sleep(S * 5).await;
    for _ in 0..2 {
        assert!(replica.handle.remove("a").await.unwrap());
        assert!(!replica.handle.remove("a").await.unwrap(), "it is gone");
        assert!(replica.handle.next().await.is_empty());
        replica.handle.put(job(MS)).await.unwrap();
        sleep(S).await;
    }
    let active = async || replica.handle.next().await.iter().map(|next| next.active).collect::<Vec<_>>();
    assert_eq!(active().await, [true], "the run goes on");
    sleep(S * 18).await;
    assert_eq!(active().await, [false], "it has ended");
    let busy = world.log.events(|e| matches!(e, EventKind::Busy));
    assert_eq!((busy, world.log.count()), (0, 1), "{:?}", world.log.told());
    sleep(S * 10).await;
    assert_eq!(world.log.count(), 2, "{:?}", world.log.told());
    replica.stop().await;
}

/// Its predecessor waits for a lock that it may not need, or does not wait for.
#[tokio::test(start_paused = true)]
async fn a_new_definition_does_not_wait_until_the_wait_of_the_old_one_is_over() {
    for held in ["g/a", "x"] {
        let world = World::new();
        let job = || world.log.job("a", every(S * 100), MS);
        let guard = world.client().await.mutex(held).lock().await.unwrap();
        let replica = world.start(|s| s.job(job().lock("x"))).await;
        sleep(S).await;
        replica.handle.put(job().busy(Busy::Skip)).await.unwrap();
        sleep(S).await;
        let busy = world.log.events(|e| matches!(e, EventKind::Busy));
        let wanted = if held == "x" { (1, 0) } else { (0, 1) };
        assert_eq!((world.log.count(), busy), wanted, "{held}: {:?}", world.log.told());
        guard.finish().await.unwrap();
        replica.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_that_does_not_run_yet_has_no_next_checks() {
    let world = World::new();
    let scheduler = cotter_scheduler::Scheduler::new(&world.client().await, "g");
    let scheduler = scheduler.job(world.log.job("a", every(S), MS));
    let next = tokio::time::timeout(S * 10, scheduler.handle().next()).await.expect("it waits for a start");
    assert!(next.is_empty());
}

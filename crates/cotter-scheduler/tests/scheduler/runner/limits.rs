//! What keeps runs apart besides the lock of their job: shared locks, limits, priorities; and slots that replace runs.

use super::world::{MS, S, World, assert_times, sleep};
use cotter_scheduler::{Busy, Concurrency, Ending, EventKind, Job, Jobs, Misfire, Run, Trigger, Why};
use cotter_testkit::history::{Kind, demand};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

fn every(period: Duration) -> Trigger {
    Trigger::fixed_rate(period).unwrap()
}

/// How many run at a time, and the most that ever did.
#[derive(Clone, Default)]
struct Running(Arc<(AtomicUsize, AtomicUsize)>);

struct Leaves(Running);

impl Running {
    fn enter(&self) -> Leaves {
        let now = self.0.0.fetch_add(1, Ordering::Relaxed) + 1;
        self.0.1.fetch_max(now, Ordering::Relaxed);
        Leaves(self.clone())
    }

    fn most(&self) -> usize {
        self.0.1.load(Ordering::Relaxed)
    }
}

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn counted(world: &World, running: &Running, name: &'static str, trigger: Trigger, takes: Duration) -> Job {
    let (log, running) = (world.log.clone(), running.clone());
    Job::new(name, trigger, move |run: Run| {
        log.add(name, &run);
        let place = running.enter();
        async move {
            sleep(takes).await;
            drop(place);
        }
    })
}

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

#[tokio::test(start_paused = true)]
async fn jobs_with_one_lock_never_run_at_the_same_time_whoever_dies() {
    for moment in 0..20 {
        let (world, running) = (World::new(), Running::default());
        let jobs = || {
            let job = |name| {
                counted(&world, &running, name, every(S), MS * 300).lock("shared").misfire(Misfire::All)
            };
            NAMES[..2].iter().copied().map(job).collect::<Vec<_>>()
        };
        let clients = [world.client().await, world.client().await, world.client().await];
        let [one, two, three] = clients.map(|client| world.start_on(client, |s| s.jobs(jobs()), S));
        sleep(S * 3 + MS * 50 * moment).await;
        one.kill().await;
        sleep(S * 10).await;
        two.stop().await;
        three.stop().await;
        demand(running.most() == 1, Kind::Overlap, format!("moment {moment}: {} at a time", running.most()));
        let starts = world.log.starts();
        let slots: HashSet<_> = starts.iter().map(|start| (start.job, start.slot)).collect();
        demand(slots.len() == starts.len(), Kind::SlotTwice, format!("moment {moment}: {starts:?}"));
        assert!(starts.len() >= 24, "moment {moment}: {} {:?}", starts.len(), world.log.told());
    }
}

#[tokio::test(start_paused = true)]
async fn at_most_so_many_run_over_all_hosts() {
    let (world, running) = (World::new(), Running::default());
    let jobs = || {
        let job =
            |name| counted(&world, &running, name, every(S), MS * 300).limit("few", 2).misfire(Misfire::All);
        NAMES.map(job)
    };
    let clients = [world.client().await, world.client().await, world.client().await];
    let replicas = clients.map(|client| world.start_on(client, |s| s.jobs(jobs()), S));
    sleep(S * 20).await;
    for replica in replicas {
        replica.stop().await;
    }
    demand(running.most() <= 2, Kind::PermitsOverLimit, format!("{} at a time", running.most()));
    assert!(running.most() == 2 && world.log.count() > 80, "{} {:?}", world.log.count(), world.log.told());
}

#[tokio::test(start_paused = true)]
async fn a_run_waits_for_a_shared_lock_without_a_worker() {
    let (world, begin) = (World::new(), Instant::now());
    let held = world.client().await.mutex("shared").lock().await.unwrap();
    let waits = world.log.job("waits", every(S * 3600), MS).lock("shared");
    let skips = world.log.job("skips", every(S * 3600), MS).lock("shared").busy(Busy::Skip);
    let other = world.log.job("other", every(S * 10), MS);
    let replica = world.start(|s| s.workers(1).jobs([waits, skips, other])).await;
    sleep(S * 45).await;
    held.finish().await.unwrap();
    sleep(S).await;
    assert_times(&world.log.millis(begin), &[0, 10_000, 20_000, 30_000, 40_000, 45_000]);
    let starts = world.log.starts();
    assert_eq!((starts[0].job, starts[5].job), ("other", "waits"));
    assert!(world.log.told().contains(&"skips: its lock is held by somebody else".to_owned()));
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_run_that_loses_a_shared_lock_or_its_place_is_stopped() {
    let world = World::new();
    let locked = world.log.job("locked", every(S * 3600), S * 100).lock("shared");
    let limited = world.log.job("limited", every(S * 3600), S * 100).limit("few", 3);
    let replica = world.start(|s| s.jobs([locked, limited])).await;
    sleep(S * 5).await;
    assert_eq!(world.log.count(), 2);
    for name in ["shared", "few"] {
        let _ = replica.client.admin().evict(name).await.unwrap();
        // It notices when it extends its lease.
        sleep(S * 12).await;
    }
    let jobs = Jobs::new(&replica.client, "g");
    for name in ["locked", "limited"] {
        let endings: Vec<_> = jobs.history(name).await.unwrap().into_iter().map(|run| run.ending).collect();
        let is_lost = endings == [Ending::Lost];
        demand(is_lost, Kind::UsedAfterLoss, format!("{name}: {endings:?} {:?}", world.log.told()));
    }
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_repetition_needs_the_shared_lock_again() {
    let (world, begin) = (World::new(), Instant::now());
    let log = world.log.clone();
    let job = Job::new("a", every(S * 3600), move |run: Run| {
        log.add("a", &run);
        async move { if run.attempt() == 1 { Err("not yet") } else { Ok(()) } }
    });
    let job = job.lock("shared").retries(1).retry_delay(S * 10);
    let replica = world.start(|s| s.job(job)).await;
    sleep(S).await;
    let held = replica.client.mutex("shared").try_lock().await.unwrap().expect("free during the pause");
    sleep(S * 20).await;
    assert_eq!(world.log.count(), 1);
    held.finish().await.unwrap();
    sleep(S).await;
    assert_times(&world.log.millis(begin), &[0, 21_000]);
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_free_worker_goes_to_the_highest_priority() {
    let world = World::new();
    let long = world.log.job("long", every(S * 3600), S * 10);
    let job = |name, priority| world.log.job(name, every(S * 3600), S).initial_delay(S).priority(priority);
    let jobs = [long, job("low", -1), job("usual", 0), job("high", 7)];
    let replica = world.start(|s| s.workers(1).jobs(jobs)).await;
    sleep(S * 20).await;
    let order: Vec<_> = world.log.starts().iter().map(|start| start.job).collect();
    assert_eq!(order, ["long", "high", "usual", "low"]);
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_slot_replaces_the_run_before_it() {
    for trigger in [Trigger::cron("0/5 * * * * ?").unwrap(), every(S * 5)] {
        let (world, running) = (World::new(), Running::default());
        let why = Arc::<Mutex<Vec<_>>>::default();
        let (log, counted, told) = (world.log.clone(), running.clone(), why.clone());
        let job = Job::new("a", trigger, move |run: Run| {
            log.add("a", &run);
            let (place, told) = (counted.enter(), told.clone());
            async move {
                let why = run.cancelled().await;
                told.lock().unwrap().push(why);
                // It needs a while to stop.
                sleep(MS * 500).await;
                drop(place);
            }
        });
        let job = job.concurrency(Concurrency::Replace).stop_within(S);
        let one = world.start(|s| s.job(job.clone())).await;
        let two = world.start(|s| s.job(job)).await;
        sleep(S * 28).await;
        let starts = world.log.starts();
        assert!((5..=6).contains(&starts.len()), "{:?}", world.log.told());
        assert!(starts.windows(2).all(|pair| pair[1].slot.since(pair[0].slot) == S * 5), "{starts:?}");
        demand(running.most() == 1, Kind::Overlap, format!("{} at a time", running.most()));
        assert!(why.lock().unwrap().iter().all(|why| *why == Why::Replaced));
        let history = Jobs::new(&one.client, "g").history("a").await.unwrap();
        // It was done in time, which is no failure.
        assert!(history.iter().all(|run| run.ending == Ending::Ok), "{history:?}");
        assert_eq!(
            world.log.events(|e| matches!(e, EventKind::Missed { .. } | EventKind::Skipped { .. })),
            0
        );
        one.kill().await;
        two.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_replaced_is_not_repeated_and_the_newest_slot_follows() {
    let world = World::new();
    let log = world.log.clone();
    let job = Job::new("a", every(S), move |run: Run| {
        log.add("a", &run);
        let first = log.count() == 1;
        async move {
            run.cancelled().await;
            sleep(if first { MS * 4500 } else { MS }).await;
            Err::<(), _>("stopped")
        }
    });
    let job = job.concurrency(Concurrency::Replace).stop_within(S * 10).retries(3);
    let replica = world.start(|s| s.job(job)).await;
    sleep(S * 8 + MS * 500).await;
    let starts = world.log.starts();
    let gaps: Vec<u64> = starts.windows(2).map(|pair| pair[1].slot.since(pair[0].slot).as_secs()).collect();
    assert_eq!(gaps, [5, 1, 1, 1], "{:?}", world.log.told());
    assert!(starts.iter().all(|start| start.attempt == 1));
    let history = Jobs::new(&replica.client, "g").history("a").await.unwrap();
    assert!(history.iter().all(|run| run.ending == Ending::Replaced), "{history:?}");
    replica.kill().await;
}

#[test]
fn names_that_cannot_be_shared_are_refused() {
    let job = || Job::new("a", Trigger::on_demand(), |_| async {});
    for (job, says) in [
        (job().lock("g/b"), "cannot be shared"),
        (job().limit("g/b", 1), "cannot be shared"),
        (job().lock(""), "name"),
        (job().limit("few", 0), "the limit is zero"),
        (job().lock("x").limit("x", 2), "the same name"),
    ] {
        let error = job.check("g").unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    assert!(job().lock("gb/b").limit("few", 1).check("g").is_ok());
}

//! How runs end, and what follows.

use super::world::{MS, Replica, S, World, assert_times, sleep};
use cotter_scheduler::{Ending, EventKind, Job, Jobs, OnCrash, Run, Trigger, Why};
use cotter_testkit::faulty::{Faults, Faulty, Plan};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::{eventually, happens};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::time::Instant;

fn hourly() -> Trigger {
    Trigger::fixed_rate(S * 3600).unwrap()
}

async fn endings(replica: &Replica, job: &str) -> Vec<Ending> {
    let history = Jobs::new(&replica.client, "g").history(job).await.unwrap();
    history.into_iter().map(|e| e.ending).collect()
}

#[tokio::test(start_paused = true)]
async fn a_failed_run_is_repeated_without_a_worker_in_between() {
    let (world, begin) = (World::new(), Instant::now());
    let log = world.log.clone();
    let failing = Job::new("fails", hourly(), move |run| {
        let log = log.clone();
        async move {
            log.add("fails", &run);
            if run.attempt() < 4 { Err(format!("attempt {}", run.attempt())) } else { Ok(()) }
        }
    });
    let failing = failing.retries(5).retry_delay(S * 10);
    let other = world.log.job("other", Trigger::fixed_rate(S * 5).unwrap(), S);
    let replica = world.start(|s| s.workers(1).job(failing).job(other)).await;
    sleep(S * 34).await;
    let starts = world.log.starts();
    let attempts: Vec<_> = starts.iter().filter(|s| s.job == "fails").collect();
    assert_eq!(attempts.iter().map(|s| s.attempt).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(attempts.windows(2).all(|p| p[0].slot == p[1].slot && p[0].token < p[1].token), "larger tokens");
    assert_eq!(starts.iter().filter(|s| s.job == "other").count(), 7, "the worker was free meanwhile");
    assert!(attempts[3].at - begin >= S * 30);
    assert_eq!(world.log.events(|e| matches!(e, EventKind::Retrying { .. })), 3);
    let wanted = ["attempt 1", "attempt 2", "attempt 3"].map(|why| Ending::Failed(why.into()));
    assert_eq!(endings(&replica, "fails").await, [&wanted[..], &[Ending::Ok]].concat());
    replica.stop().await;
}

#[tokio::test]
async fn work_that_blocks_stops_no_other_and_keeps_its_lock_until_it_is_over() {
    let world = World::new();
    let (seen, release) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
    let (why, over) = (seen.clone(), release.clone());
    let blocks = Job::blocking("blocks", hourly(), move |run: Run| {
        while over.load(Ordering::Relaxed) == 0 {
            why.lock().unwrap().extend(run.must_stop());
            std::thread::sleep(MS * 5);
        }
        Err::<(), _>("late")
    });
    let panics = Job::blocking("panics", hourly(), |_| assert!(std::hint::black_box(false), "on purpose"));
    let other = world.log.job("other", Trigger::fixed_rate(MS * 20).unwrap(), MS);
    let replica = world.start(|s| s.jobs([blocks.max_run(MS * 100), panics, other])).await;
    eventually("the runtime is not blocked", || world.log.count() >= 5).await;
    eventually("it is told that it has run for long enough", || !seen.lock().unwrap().is_empty()).await;
    assert_eq!(seen.lock().unwrap().first(), Some(&Why::MaxRun));
    let ended = async {
        while endings(&replica, "panics").await.is_empty() {
            sleep(MS * 5).await;
        }
    };
    happens("the other one panics", ended).await;
    assert_eq!(endings(&replica, "panics").await, [Ending::Panicked("on purpose".into())]);
    let lock = replica.client.mutex("g/blocks");
    let is_free = async || lock.try_lock().await.unwrap().is_some();
    assert!(!is_free().await, "it still runs");
    release.store(1, Ordering::Relaxed);
    let freed = async {
        while !is_free().await {
            sleep(MS * 5).await;
        }
    };
    happens("its lock is free after its end", freed).await;
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn each_pause_is_twice_as_long_as_the_one_before_up_to_a_limit() {
    let (world, begin) = (World::new(), Instant::now());
    let log = world.log.clone();
    let failing = Job::new("a", hourly(), move |run| {
        log.add("a", &run);
        async { Err::<(), _>("no") }
    });
    let failing = failing.retries(5).retry_delay(S * 10).max_retry_delay(S * 60);
    let replica = world.start(|s| s.job(failing.clone())).await;
    sleep(S * 100).await;
    let client = replica.client.clone();
    replica.kill().await;
    // Another runner finds in the note what is due, and goes on doubling.
    let replica = world.start_on(client, |s| s.job(failing), S);
    sleep(S * 300).await;
    assert_times(&world.log.millis(begin), &[0, 10_000, 30_000, 70_000, 130_000, 190_000]);
    let last =
        |wanted: bool| world.log.events(|e| matches!(e, EventKind::Ended { last, .. } if *last == wanted));
    assert_eq!((last(false), last(true)), (5, 1), "{:?}", world.log.told());
    let short = Job::new("b", hourly(), |_| async {}).retry_delay(S * 10).max_retry_delay(S);
    let error = replica.handle.replace([short]).await.unwrap_err();
    assert!(error.to_string().contains("max_retry_delay"), "{error}");
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn panics_and_errors_of_one_job_stop_no_other() {
    let world = World::new();
    let bad = Job::new("bad", Trigger::fixed_rate(S).unwrap(), |run: Run| async move {
        assert!(run.attempt() > 1, "on purpose");
        Err::<(), _>("also on purpose")
    });
    let at_once = Job::new("at-once", Trigger::fixed_rate(S).unwrap(), |run: Run| {
        assert!(run.attempt() > 1, "before there is a future");
        async {}
    });
    let good = world.log.job("good", Trigger::fixed_rate(S).unwrap(), MS);
    let jobs = [bad.retries(1).retry_delay(MS * 10), at_once, good];
    let replica = world.start(|s| s.jobs(jobs)).await;
    sleep(S * 5 + MS * 500).await;
    assert_eq!(world.log.count(), 6);
    let wanted = [Ending::Panicked("on purpose".into()), Ending::Failed("also on purpose".into())];
    assert_eq!(endings(&replica, "bad").await, [&wanted[..]; 6].concat());
    assert_eq!(
        endings(&replica, "at-once").await,
        vec![Ending::Panicked("before there is a future".into()); 6]
    );
    replica.stop().await;
}

/// A job that never ends by itself, and what it saw.
fn hanging(world: &World, name: &'static str) -> (Job, Arc<Mutex<Vec<Why>>>, Arc<AtomicUsize>) {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (log, told, dropped) = (world.log.clone(), Arc::new(Mutex::default()), Arc::new(AtomicUsize::new(0)));
    let (why, count): (Arc<Mutex<Vec<Why>>>, _) = (told.clone(), dropped.clone());
    let job = Job::new(name, hourly(), move |run: Run| {
        let (log, why, counted) = (log.clone(), why.clone(), Counted(count.clone()));
        async move {
            let _counted = counted;
            log.add(name, &run);
            let told = run.cancelled().await;
            why.lock().unwrap().push(told);
            std::future::pending::<()>().await;
        }
    });
    (job, told, dropped)
}

#[tokio::test(start_paused = true)]
async fn a_run_that_hangs_is_told_and_then_dropped_and_its_lock_is_free() {
    let world = World::new();
    let (job, told, dropped) = hanging(&world, "a");
    let replica = world.start(|s| s.job(job.max_run(S * 60).stop_within(S * 5))).await;
    sleep(S * 59).await;
    assert!(told.lock().unwrap().is_empty());
    sleep(S * 2).await;
    assert_eq!(*told.lock().unwrap(), [Why::MaxRun]);
    assert_eq!(dropped.load(Ordering::Relaxed), 0, "it has its time to stop");
    assert!(replica.client.mutex("g/a").try_lock().await.unwrap().is_none());
    sleep(S * 5).await;
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    assert!(replica.client.mutex("g/a").try_lock().await.unwrap().is_some());
    assert_eq!(endings(&replica, "a").await, [Ending::TimedOut]);
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_the_grace_then_stops_what_is_left() {
    let (world, begin) = (World::new(), Instant::now());
    let (hangs, told, dropped) = hanging(&world, "hangs");
    let short = world.log.job("short", hourly(), S * 20);
    let never =
        world.log.job("never", Trigger::fixed_rate(S * 15).unwrap().clone(), MS).initial_delay(S * 15);
    let client = world.client().await;
    let set = |s: cotter_scheduler::Scheduler| s.jobs([hangs.stop_within(S * 2), short, never]);
    let replica = world.start_on(client.clone(), set, S * 30);
    sleep(S * 10).await;
    replica.stop().await;
    assert_eq!((Instant::now() - begin).as_secs(), 42, "grace of 30 s, then 2 s to stop");
    assert_eq!(
        (told.lock().unwrap().as_slice(), dropped.load(Ordering::Relaxed)),
        ([Why::Shutdown].as_slice(), 1)
    );
    assert_eq!(world.log.count(), 2, "nothing new was started");
    for (job, ending) in [("hangs", Ending::Stopped), ("short", Ending::Ok)] {
        assert!(client.mutex(format!("g/{job}")).try_lock().await.unwrap().is_some(), "{job} is free");
        let history = Jobs::new(&client, "g").history(job).await.unwrap();
        assert_eq!(history.iter().map(|e| &e.ending).collect::<Vec<_>>(), [&ending]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_lock_is_lost_is_dropped_writes_nothing_and_counts_as_crashed() {
    let world = World::new();
    let (job, _, dropped) = hanging(&world, "a");
    let job = job.ttl(S * 30);
    let replica = world.start(|s| s.job(job)).await;
    sleep(S).await;
    let order = cotter::EvictOrder::new().at_once();
    drop(world.client().await.admin().evict_with("g/a", order).await.unwrap());
    sleep(S * 30).await;
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    assert_eq!(world.log.events(|e| matches!(e, EventKind::Ended { outcome: Ending::Lost, .. })), 1);
    assert_eq!(world.log.events(|e| matches!(e, EventKind::Crashed { again: false, .. })), 1);
    assert_eq!(endings(&replica, "a").await, [Ending::Crashed], "{:?}", world.log.told());
    assert_eq!(world.log.count(), 1, "on_crash = skip");
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_lock_was_gone_before_it_ended_is_not_called_ok() {
    let world = World::new();
    // Over long before the first renewal would have noticed.
    let job = world.log.job("a", hourly(), S * 5).ttl(S * 30);
    let replica = world.start(|s| s.job(job)).await;
    sleep(S).await;
    let order = cotter::EvictOrder::new().at_once();
    drop(world.client().await.admin().evict_with("g/a", order).await.unwrap());
    sleep(S * 20).await;
    let ended = |wanted: Ending| {
        world.log.events(|e| matches!(e, EventKind::Ended { outcome, .. } if *outcome == wanted))
    };
    assert_eq!((ended(Ending::Ok), ended(Ending::Lost)), (0, 1), "{:?}", world.log.told());
    assert_eq!(endings(&replica, "a").await, [Ending::Crashed]);
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_cannot_be_renewed_tells_the_run_before_it_ends() {
    let (world, faults) = (World::new(), Faults::seeded(1));
    let client = world.client_of(|store| Faulty::new(store, &faults)).await;
    let (job, told, dropped) = hanging(&world, "a");
    // More than the lease: a renewal on time must not count as late.
    let replica = world.start_on(client, |s| s.job(job.ttl(S * 30).stop_within(S * 60)), S);
    sleep(S * 100).await;
    assert!(told.lock().unwrap().is_empty());
    faults.set(Plan { renewals_fail: true, ..Plan::default() });
    while told.lock().unwrap().is_empty() {
        sleep(MS * 10).await;
    }
    assert_eq!((told.lock().unwrap()[0], dropped.load(Ordering::Relaxed)), (Why::Loss, 0));
    let warned = Instant::now();
    while dropped.load(Ordering::Relaxed) == 0 {
        sleep(MS * 10).await;
    }
    let left = (Instant::now() - warned).as_millis();
    assert!((9000..=10_100).contains(&left), "a third of the lease, {left} ms");
    replica.kill().await;
}

/// An administrator takes a right away during a run, and puts it back.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_run_is_recorded_once_the_store_permits_it_again() {
    let (world, faults) = (World::new(), Faults::seeded(1));
    let client = world.client_of(|store| Faulty::new(store, &faults)).await;
    let job = world.log.job("a", hourly(), S * 5).on_crash(OnCrash::Rerun);
    let replica = world.start_on(client, |s| s.job(job), S);
    sleep(S * 2).await;
    faults.set(Plan { notes_denied: true, ..Plan::default() });
    sleep(S * 60).await;
    assert!(world.log.events(|e| matches!(e, EventKind::StoreDown { .. })) > 0, "{:?}", world.log.told());
    faults.set(Plan::default());
    sleep(S * 60).await;
    assert_eq!(endings(&replica, "a").await, [Ending::Ok], "{:?}", world.log.told());
    replica.stop().await;
    assert_eq!(world.log.count(), 1, "it has not crashed: {:?}", world.log.told());
}

#[tokio::test(start_paused = true)]
async fn after_a_loss_the_job_goes_on_soon() {
    let (world, begin) = (World::new(), Instant::now());
    let job = world.log.job("a", Trigger::fixed_rate(S * 5).unwrap(), S * 4).ttl(S * 3);
    let replica = world.start(|s| s.job(job)).await;
    sleep(S).await;
    let order = cotter::EvictOrder::new().at_once();
    drop(world.client().await.admin().evict_with("g/a", order).await.unwrap());
    sleep(S * 10).await;
    replica.stop().await;
    assert_times(&world.log.millis(begin), &[0, 5000, 10_000]);
    assert_eq!(world.log.events(|e| matches!(e, EventKind::Crashed { .. })), 1);
}

#[tokio::test(start_paused = true)]
async fn at_least_keeps_the_lock_after_the_start() {
    let world = World::new();
    let job = world.log.job("a", hourly(), S).at_least(S * 10);
    let replica = world.start(|s| s.job(job)).await;
    let other = world.client().await;
    let mut free = Vec::new();
    for second in 1..15 {
        sleep(S).await;
        if other.mutex("g/a").try_lock().await.unwrap().is_some() {
            free.push(second);
        }
    }
    assert_times(&free[..1], &[10]);
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_run_that_fails_because_it_was_stopped_is_stopped_or_lost_and_not_repeated() {
    let obeys = |world: &World| {
        let log = world.log.clone();
        let job = Job::new("a", hourly(), move |run: Run| {
            log.add("a", &run);
            async move { Err::<(), _>(format!("{:?}", run.cancelled().await)) }
        });
        job.ttl(S * 30).stop_within(S * 5).retries(3).retry_delay(S)
    };
    let world = World::new();
    let (client, job) = (world.client().await, obeys(&world));
    let replica = world.start_on(client.clone(), |s| s.job(job), S);
    sleep(S).await;
    replica.stop().await;
    let history = Jobs::new(&client, "g").history("a").await.unwrap();
    assert_eq!(history.iter().map(|e| &e.ending).collect::<Vec<_>>(), [&Ending::Stopped]);

    let (world, faults) = (World::new(), Faults::seeded(1));
    let client = world.client_of(|store| Faulty::new(store, &faults)).await;
    let job = obeys(&world);
    let replica = world.start_on(client, |s| s.job(job), S);
    sleep(S).await;
    faults.set(Plan { renewals_fail: true, ..Plan::default() });
    sleep(S * 60).await;
    assert_eq!(endings(&replica, "a").await, [Ending::Lost], "{:?}", world.log.told());
    assert_eq!(world.log.count(), 1);
    replica.kill().await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_survives_the_end_of_its_process() {
    for is_killed in [false, true] {
        let world = World::new();
        let failing = |by: &'static str| {
            let log = world.log.clone();
            let job = Job::new("a", hourly(), move |run: Run| {
                log.add(by, &run);
                async move { if run.attempt() < 3 { Err("no") } else { Ok(()) } }
            });
            job.retries(5).retry_delay(S * 30).ttl(S * 10)
        };
        let (begin, first) = (Instant::now(), world.start(|s| s.job(failing("first"))).await);
        let second = world.start(|s| s.job(failing("second"))).await;
        sleep(S * 10).await;
        let jobs = Jobs::new(&second.client, "g");
        let status = &jobs.list().await.unwrap()[0];
        let is_due = status.retry_at.is_some_and(|at| at.since(second.handle.now()) <= S * 20);
        demand(is_due, Kind::SlotMissing, format!("the retry is due within 20 s: {status:?}"));
        match is_killed {
            true => first.kill().await,
            false => first.stop().await,
        }
        sleep(S * 70).await;
        let starts = world.log.starts();
        let found: Vec<_> = starts.iter().map(|s| (s.job, s.attempt)).collect();
        let wanted = [("first", 1), ("second", 2), ("second", 3)];
        demand(found == wanted, Kind::SlotMissing, format!("{found:?}, {:?}", world.log.told()));
        assert!(starts.iter().all(|s| s.slot == starts[0].slot));
        assert_times(&world.log.millis(begin), &[0, 30_000, 60_000]);
        assert_eq!(jobs.list().await.unwrap()[0].retry_at, None);
        sleep(S * 3600).await;
        assert_eq!(world.log.starts()[3].attempt, 1, "the next slot");
        second.stop().await;
    }
}

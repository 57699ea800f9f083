//! Workers.

use super::world::{MS, S, World, assert_times, sleep};
use cotter_scheduler::{EventKind, Job, Jobs, Scheduler, Trigger};
use cotter_testkit::history::{Kind, demand};
use tokio::time::Instant;

const NAMES: [&str; 10] = ["j0", "j1", "j2", "j3", "j4", "j5", "j6", "j7", "j8", "j9"];

#[tokio::test(start_paused = true)]
async fn one_worker_serves_ten_jobs_in_order_and_holds_no_lock_for_those_who_wait() {
    let (world, begin) = (World::new(), Instant::now());
    let jobs: Vec<_> =
        NAMES.iter().map(|name| world.log.job(name, Trigger::fixed_rate(S * 20).unwrap(), S)).collect();
    let replica = world.start(|s| s.workers(1).jobs(jobs)).await;
    sleep(S / 2).await;
    let held = NAMES.map(|name| replica.client.mutex(format!("g/{name}")).try_lock());
    let mut busy = 0;
    for lock in held {
        busy += usize::from(lock.await.unwrap().is_none());
    }
    assert_eq!(busy, 1, "only the one that runs has its lock");
    sleep(S * 39).await;
    replica.stop().await;
    let wanted: Vec<u64> = (0..20).map(|n| (n / 10 * 20 + n % 10) * 1000).collect();
    let starts = world.log.starts();
    assert_times(&world.log.millis(begin)[..20], &wanted);
    let order = |from: usize| starts[from..from + 10].iter().map(|s| s.job).collect::<Vec<_>>();
    let mut first = order(0);
    first.sort_unstable();
    assert_eq!(first, NAMES, "each once");
}

#[tokio::test(start_paused = true)]
async fn a_fixed_rate_that_waits_for_a_worker_loses_no_slot() {
    let world = World::new();
    let long = world.log.job("long", Trigger::fixed_rate(S * 3600).unwrap(), S * 10);
    let short = world.log.job("short", Trigger::fixed_rate(S).unwrap(), MS * 10).initial_delay(S);
    let replica = world.start(|s| s.workers(1).jobs([long, short])).await;
    sleep(S * 12 + MS * 500).await;
    replica.stop().await;
    let starts = world.log.starts();
    let short: Vec<_> = starts.iter().filter(|s| s.job == "short").collect();
    assert!(short.windows(2).all(|pair| pair[1].slot.since(pair[0].slot) == S), "{short:?}");
    assert_eq!(short.len(), 12, "{:?}", world.log.told());
    for seconds in 1..=9 {
        let about = S * seconds..=S * seconds + MS * 200;
        let is = |e: &EventKind| matches!(e, EventKind::Started { late, .. } if about.contains(late));
        assert_eq!(world.log.events(is), 1, "{seconds} s late: {:?}", world.log.told());
    }
    assert_eq!(world.log.events(|e| matches!(e, EventKind::Missed { .. })), 0, "{:?}", world.log.told());
}

/// A retry that is waited for needs none, nor does a job that waits for a lock.
#[tokio::test(start_paused = true)]
async fn busy_workers_are_those_that_run_something() {
    let world = World::new();
    let hour = || Trigger::fixed_rate(S * 3600).unwrap();
    let slow = world.log.job("slow", hour(), S * 10).lock("db");
    let next = world.log.job("next", hour(), S * 10).lock("db").initial_delay(S);
    let fails = Job::new("fails", hour(), |_| async { Err::<(), _>("no") });
    let fails = fails.retries(1).retry_delay(S * 3600);
    let scheduler = Scheduler::new(&world.client().await, "g");
    assert_eq!(scheduler.handle().workers(), None, "it has not started");
    let replica = world.start(|s| s.workers(4).jobs([slow, next, fails])).await;
    let mut counts = Vec::new();
    for _ in 0..3 {
        sleep(S * 9).await;
        counts.push(replica.handle.workers().map(|workers| (workers.busy, workers.all)));
    }
    let wanted = [Some((1, 4)), Some((1, 4)), Some((0, 4))];
    demand(counts == wanted, Kind::Untrue, format!("busy, of all: {counts:?}"));
    replica.stop().await;
}

/// A job that is late says why, for as long as that is so.
#[tokio::test(start_paused = true)]
async fn it_is_told_that_no_worker_is_free() {
    let world = World::new();
    let jobs = Jobs::new(&world.client().await, "g");
    let slow = world.log.job("slow", Trigger::fixed_rate(S * 3600).unwrap(), S * 100);
    let quick = || world.log.job("quick", Trigger::fixed_rate(S).unwrap(), MS);
    let one = world.start(|s| s.host("h").workers(1).jobs([slow, quick()])).await;
    sleep(S * 4).await;
    let quick_status = async || jobs.list().await.unwrap().remove(0);
    assert_eq!(quick_status().await.no_worker_on, [], "it is nothing to speak of yet");
    sleep(S * 6).await;
    let (status, hosts) = (quick_status().await, jobs.hosts().await.unwrap());
    let told = (status.no_worker_on.as_slice(), hosts[0].no_worker_since.is_some());
    let is_told = status.overdue_since.is_some() && told == (&[Some("h".to_owned())], true);
    demand(is_told, Kind::Untrue, format!("nothing says that no worker is free: {status:?}, {hosts:?}"));
    // It is said again and again, and goes on.
    sleep(S * 60).await;
    assert_eq!(quick_status().await.no_worker_on, [Some("h".to_owned())]);
    sleep(S * 35).await;
    let (status, hosts) = (quick_status().await, jobs.hosts().await.unwrap());
    let is_over = status.no_worker_on.is_empty() && hosts[0].no_worker_since.is_none();
    demand(is_over, Kind::LeftBehind, format!("a worker is free, but {status:?}, {hosts:?}"));
    one.stop().await;
}

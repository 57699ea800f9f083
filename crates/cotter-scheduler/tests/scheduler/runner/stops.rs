//! Runs that are cut because their scheduler stops, as in a deploy.

use super::world::{MS, S, World, assert_times, sleep};
use cotter_scheduler::{Ending, EventKind, Job, Jobs, OnCrash, OnStop, OneShot, Trigger};
use cotter_testkit::history::{Kind, demand};

fn hourly() -> Trigger {
    Trigger::fixed_rate(S * 3600).unwrap()
}

/// A job whose runs take a minute.
fn long(world: &World) -> Job {
    world.log.job("a", hourly(), S * 60)
}

/// As often as hosts are replaced, and not only as often as a job may crash. The attempts are those of one slot.
#[tokio::test(start_paused = true)]
async fn a_run_that_a_deploy_has_cut_is_run_again() {
    const DEPLOYS: usize = Job::MAX_CRASHES as usize + 2;
    let world = World::new();
    let job = long(&world).on_stop(OnStop::Rerun);
    for _ in 0..DEPLOYS {
        let replica = world.start_on(world.client().await, |s| s.job(job.clone()), S);
        sleep(S * 5).await;
        replica.stop().await;
    }
    let replica = world.start(|s| s.job(job)).await;
    sleep(S * 100).await;
    let history = Jobs::new(&replica.client, "g").history("a").await.unwrap();
    let endings: Vec<_> = history.iter().map(|entry| &entry.ending).collect();
    let mut wanted = vec![&Ending::Stopped; DEPLOYS];
    wanted.push(&Ending::Ok);
    demand(endings == wanted, Kind::SlotMissing, format!("{endings:?}"));
    let attempts: Vec<_> = history.iter().map(|entry| (entry.slot, entry.attempt)).collect();
    let all = (1..=wanted.len() as u32).map(|attempt| (history[0].slot, attempt));
    assert_eq!(attempts, all.collect::<Vec<_>>());
    let last = |e: &EventKind| matches!(e, EventKind::Ended { outcome: Ending::Stopped, last: true, .. });
    assert_eq!(world.log.events(last), 0, "none of them was the last one");
    replica.stop().await;
}

/// A replica that is there takes it over as soon as the lock is free.
#[tokio::test(start_paused = true)]
async fn another_replica_runs_it_at_once() {
    let world = World::new();
    let first = world.start_on(world.client().await, |s| s.job(long(&world).on_stop(OnStop::Rerun)), S);
    sleep(S).await;
    let second = world.start(|s| s.job(long(&world).on_stop(OnStop::Rerun))).await;
    sleep(S * 4).await;
    let begin = tokio::time::Instant::now();
    first.stop().await;
    sleep(S * 5).await;
    assert_eq!(world.log.count(), 2);
    assert_times(&world.log.millis(begin)[1..], &[1000]);
    second.stop().await;
}

/// What is to be done after a stop is what is done after a crash, unless it is said.
#[tokio::test(start_paused = true)]
async fn a_stop_is_as_a_crash_unless_it_is_said() {
    let said = [(None, OnCrash::Skip, 1), (None, OnCrash::Rerun, 2)];
    let other = [(Some(OnStop::Rerun), OnCrash::Skip, 2), (Some(OnStop::Skip), OnCrash::Rerun, 1)];
    for (on_stop, on_crash, wanted) in said.into_iter().chain(other) {
        let world = World::new();
        let job = on_stop.into_iter().fold(long(&world).on_crash(on_crash), Job::on_stop);
        let first = world.start_on(world.client().await, |s| s.job(job.clone()), MS * 100);
        sleep(S).await;
        first.stop().await;
        let last = |e: &EventKind| matches!(e, EventKind::Ended { outcome: Ending::Stopped, last: true, .. });
        assert_eq!(world.log.events(last), usize::from(wanted == 1), "{on_stop:?}, {on_crash:?}");
        let second = world.start(|s| s.job(job)).await;
        sleep(S * 70).await;
        assert_eq!(world.log.count(), wanted, "{on_stop:?}, {on_crash:?}");
        second.stop().await;
    }
}

/// Between two hosts it is due, and is said to be; also a run that was added, which is not forgotten.
#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_a_host_is_due() {
    let world = World::new();
    let job = || world.log.job("a", Trigger::on_demand(), S * 60).on_stop(OnStop::Rerun);
    let first = world.start_on(world.client().await, |s| s.job(job()), MS * 100);
    sleep(S).await;
    let client = world.client().await;
    let jobs = Jobs::new(&client, "g");
    jobs.add("a", OneShot::after(S).id("order-17")).await.unwrap();
    sleep(S * 10).await;
    first.stop().await;
    sleep(S * 20).await;
    let status = jobs.list().await.unwrap().remove(0);
    let waits = (status.retry_at.is_some(), status.attempt, jobs.pending().await.unwrap().len());
    demand(waits == (true, Some(1), 1), Kind::Untrue, format!("{status:?}"));
    let second = world.start(|s| s.job(job())).await;
    sleep(S * 100).await;
    let history = jobs.history("a").await.unwrap();
    let ids: Vec<_> = history.iter().map(|entry| (entry.one_shot.as_deref(), entry.attempt)).collect();
    assert_eq!(ids, [(Some("order-17"), 1), (Some("order-17"), 2)]);
    assert!(jobs.pending().await.unwrap().is_empty(), "it has ended");
    second.stop().await;
}

/// Nobody runs again what is paused: the run follows when the job is resumed.
#[tokio::test(start_paused = true)]
async fn a_pause_delays_it() {
    let world = World::new();
    let job = world.log.job("a", hourly(), S * 60).on_stop(OnStop::Rerun);
    let first = world.start_on(world.client().await, |s| s.job(job.clone()), MS * 100);
    sleep(S).await;
    let jobs = Jobs::new(&first.client, "g");
    jobs.pause("a").await.unwrap();
    first.stop().await;
    let second = world.start(|s| s.job(job)).await;
    sleep(S * 10).await;
    assert_eq!(world.log.count(), 1, "it is paused");
    jobs.resume("a").await.unwrap();
    sleep(S * 5).await;
    assert_eq!(world.log.count(), 2);
    second.stop().await;
}

/// A run that must not be cut has longer than the others, which do not wait for it.
#[tokio::test(start_paused = true)]
async fn each_job_has_its_own_grace() {
    let world = World::new();
    let job = |name, takes| world.log.job(name, hourly(), takes);
    let (brief, usual) = (job("brief", S * 60).grace(S), job("usual", S * 60));
    let long = job("long", S * 20).grace(S * 30);
    let replica = world.start_on(world.client().await, |s| s.jobs([brief, usual, long]), S * 10);
    sleep(S * 5).await;
    let jobs = Jobs::new(&world.client().await, "g");
    replica.stop().await;
    let mut ends = Vec::new();
    for name in ["brief", "usual", "long"] {
        let run = jobs.history(name).await.unwrap().remove(0);
        ends.push((run.ending, run.ended.since(run.started).as_secs()));
    }
    let wanted = [(Ending::Stopped, 6), (Ending::Stopped, 15), (Ending::Ok, 20)];
    demand(ends == wanted, Kind::SlotMissing, format!("{ends:?}"));
}

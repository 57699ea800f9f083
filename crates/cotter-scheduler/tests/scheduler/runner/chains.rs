//! Jobs that run after others.

use super::world::{MS, S, World, sleep};
use cotter_scheduler::{Ending, Job, Jobs, Label, Run, Scheduler, Trigger};
use cotter_testkit::history::{Kind, demand};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn every(seconds: u32) -> Trigger {
    Trigger::fixed_rate(S * seconds).unwrap()
}

fn after_both(world: &World, takes: Duration) -> Job {
    world.log.job("both", Trigger::on_demand(), takes).after("a").after("c")
}

fn count(world: &World, job: &str) -> usize {
    world.log.starts().iter().filter(|started| started.job == job).count()
}

/// Each end of `c` completes a set, for `a` has always succeeded since the one before.
#[tokio::test(start_paused = true)]
async fn it_runs_once_for_each_set_on_whichever_replica() {
    let world = World::new();
    let set = |s: Scheduler| {
        let (a, c) = (world.log.job("a", every(10), MS * 10), world.log.job("c", every(25), MS * 20));
        s.job(a).job(c).job(after_both(&world, S))
    };
    let (one, two) = (world.start(set).await, world.start(set).await);
    sleep(S * 310).await;
    let (sets, runs) = (count(&world, "c"), count(&world, "both"));
    let told = format!("{runs} runs for {sets} sets");
    demand(runs <= sets, Kind::SlotTwice, &*told);
    demand(runs >= sets, Kind::SlotMissing, &*told);
    let of_c: Vec<_> = world.log.starts().into_iter().filter(|s| s.job == "c").map(|s| s.at).collect();
    let of_both = world.log.starts().into_iter().filter(|s| s.job == "both");
    for (run, set) in of_both.zip(of_c) {
        let after = (run.at - set).as_secs();
        demand(after == 0, Kind::TooSlow, format!("it follows after {after} s"));
    }
    one.stop().await;
    two.stop().await;
}

/// What has succeeded while nobody could run it is not lost, and is run for once, whoever is restarted then.
#[tokio::test(start_paused = true)]
async fn it_is_kept_while_no_host_is_there_or_the_job_is_paused_and_runs_once() {
    let world = World::new();
    let label = || Label::new("role=db").unwrap();
    let set = |s: Scheduler| {
        let (a, c) = (world.log.job("a", every(3600), MS), world.log.job("c", every(3600), MS));
        s.job(a).job(c).job(after_both(&world, MS).on(label()))
    };
    let db = || world.start(|s| set(s).label(label()));
    db().await.stop().await;
    let before = count(&world, "both");
    let (others, operator) = (world.start(set).await, world.client().await);
    let jobs = Jobs::new(&operator, "g");
    sleep(S * 7300).await;
    assert_eq!(count(&world, "both"), before, "no host has the label");
    let listed = jobs.list().await.unwrap();
    let both = listed.iter().find(|job| job.name == "both").unwrap();
    assert!(both.overdue_since.is_some() && both.after == ["a", "c"], "{both:?}");
    for restarts in 0..3 {
        let replica = db().await;
        sleep(S * 100).await;
        let runs = count(&world, "both") - before;
        demand(runs <= 1, Kind::SlotTwice, format!("{runs} runs after {restarts} restarts"));
        demand(runs == 1, Kind::SlotMissing, format!("{runs} runs after {restarts} restarts"));
        replica.stop().await;
    }
    let replica = db().await;
    jobs.pause("both").await.unwrap();
    sleep(S * 7300).await;
    assert_eq!(count(&world, "both"), before + 1, "it is paused");
    jobs.resume("both").await.unwrap();
    sleep(S * 100).await;
    demand(count(&world, "both") == before + 2, Kind::SlotMissing, "it waited for the end of the pause");
    others.stop().await;
    replica.stop().await;
}

/// Only success counts, of each of them, and what was run by hand as well.
#[tokio::test(start_paused = true)]
async fn a_failure_completes_nothing() {
    let (world, fails) = (World::new(), Arc::new(AtomicBool::new(true)));
    let broken = fails.clone();
    let a = Job::new("a", every(10), move |_: Run| {
        let fails = broken.load(Ordering::Relaxed);
        async move { if fails { Err("no") } else { Ok(()) } }
    });
    let c = world.log.job("c", Trigger::on_demand(), MS);
    let replica = world.start(|s| s.job(a).job(c).job(after_both(&world, MS))).await;
    let jobs = Jobs::new(&replica.client, "g");
    sleep(S).await;
    jobs.trigger("c").await.unwrap();
    sleep(S * 100).await;
    demand(count(&world, "both") == 0, Kind::TooEarly, "it ran although `a` has always failed");
    fails.store(false, Ordering::Relaxed);
    sleep(S * 100).await;
    demand(count(&world, "both") == 1, Kind::SlotMissing, "it did not run although both have succeeded");
    replica.stop().await;
}

/// At most once, and if its process died, the history tells.
#[tokio::test(start_paused = true)]
async fn whoever_dies_at_whatever_moment_each_set_has_one_run() {
    for moment in 0..40 {
        let world = World::new();
        let set = |s: Scheduler| {
            let (a, c) = (world.log.job("a", every(3600), MS * 3), world.log.job("c", every(3600), MS * 9));
            s.job(a).job(c).job(after_both(&world, MS * 9).ttl(S))
        };
        let one = world.start(set).await;
        sleep(MS * moment).await;
        one.kill().await;
        let two = world.start(set).await;
        // The runs of the first hour may have died with their process.
        sleep(S * 4000).await;
        let history = Jobs::new(&two.client, "g").history("both").await.unwrap();
        let (runs, starts) = (history.len(), count(&world, "both"));
        let told = format!("killed after {moment} ms: {history:?}");
        demand(starts <= 2 && runs <= 2, Kind::SlotTwice, &*told);
        let slots: std::collections::BTreeSet<_> = history.iter().map(|run| run.slot).collect();
        demand(slots.len() == runs, Kind::SlotTwice, &*told);
        let ended = history.last().map(|run| run.ending.clone());
        demand(ended == Some(Ending::Ok), Kind::SlotMissing, &*told);
        two.stop().await;
    }
}

/// A success that it has run for is not another one because it has followed fewer jobs since then.
#[tokio::test(start_paused = true)]
async fn what_it_has_run_for_stays_known_when_it_follows_others() {
    let world = World::new();
    let (a, c) = (world.log.job("a", every(10), MS), world.log.job("c", Trigger::on_demand(), MS));
    let only_a = world.log.job("both", Trigger::on_demand(), MS).after("a");
    let replica = world.start(|s| s.job(a).job(c).job(after_both(&world, MS))).await;
    sleep(S).await;
    Jobs::new(&replica.client, "g").trigger("c").await.unwrap();
    sleep(S).await;
    assert_eq!(count(&world, "both"), 1);
    replica.handle.put(only_a).await.unwrap();
    sleep(S * 60).await;
    replica.handle.put(after_both(&world, MS)).await.unwrap();
    let before = count(&world, "both");
    assert!(before > 4, "{before}");
    sleep(S * 60).await;
    demand(
        count(&world, "both") == before,
        Kind::SlotTwice,
        "the success of `c` was for another run already",
    );
    replica.stop().await;
}

#[test]
fn what_cannot_follow_is_refused() {
    let job = |trigger: Trigger| Job::new("b", trigger, |_: Run| async {});
    for (job, says) in [
        (job(Trigger::on_demand()).after("b"), "after itself"),
        (job(Trigger::on_demand()).after("g/a"), "cannot be the name"),
        (job(Trigger::on_demand()).after(""), "cannot be the name"),
        (job(every(1)).after("a"), "slots of its own"),
    ] {
        let error = job.check("g").unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    job(Trigger::on_demand()).after("a").check("g").unwrap();
}

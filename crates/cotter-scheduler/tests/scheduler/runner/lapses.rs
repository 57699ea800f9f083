//! Definitions that are left behind by a host that is gone.

use super::world::{MS, Replica, S, World, sleep};
use cotter_scheduler::{Busy, EventKind, Job, Jobs, Trigger};
use cotter_testkit::history::{Kind, demand};
use std::collections::BTreeSet;
use std::time::Duration;

fn every(period: Duration) -> Trigger {
    Trigger::fixed_rate(period).unwrap()
}

/// A job whose definition says whose it is.
fn named(world: &World, by: &'static str, trigger: Trigger, takes: Duration) -> Job {
    let log = world.log.clone();
    let job = Job::new("a", trigger, move |run| {
        let log = log.clone();
        async move {
            log.add(by, &run);
            sleep(takes).await;
        }
    });
    job.definition(by)
}

async fn host(world: &World, name: &str, job: Job) -> Replica {
    world.start(|s| s.host(name).job(job)).await
}

/// Which definitions were run, in order, since so many starts.
fn runs(world: &World, from: usize) -> Vec<&'static str> {
    let mut by: Vec<_> = world.log.starts()[from..].iter().map(|start| start.job).collect();
    by.dedup();
    by
}

fn check_no_slot_twice(world: &World) {
    let slots: BTreeSet<_> = world.log.starts().iter().map(|start| start.slot).collect();
    demand(slots.len() == world.log.count(), Kind::SlotTwice, format!("{:?}", world.log.slots()));
}

fn told(world: &World, wanted: &str) -> Vec<String> {
    world.log.told().into_iter().filter(|line| line.contains(wanted)).collect()
}

/// However it ends: a pod that is deleted, a test against the wrong store, a rollback.
#[tokio::test(start_paused = true)]
async fn whoever_starts_a_differing_job_for_seconds_does_not_stop_it_for_good() {
    for (killed, generation) in [(false, 1), (true, 1), (false, 2)] {
        let world = World::new();
        let old = || named(&world, "old", every(S), MS);
        let (one, two) = (host(&world, "web-1", old()).await, host(&world, "web-2", old()).await);
        sleep(S * 5).await;
        let new = named(&world, "new", every(S), MS).generation(generation);
        let third = host(&world, "laptop", new).await;
        sleep(S * 3).await;
        if killed {
            third.kill().await
        } else {
            third.stop().await
        }
        let before = world.log.count();
        sleep(S * 150).await;
        let again = runs(&world, before) == ["old"];
        demand(again, Kind::SlotMissing, format!("{:?}", world.log.told()));
        let taken = told(&world, "takes over");
        let taken =
            taken.iter().filter(|line| line.starts_with("a: takes over: no host runs")).collect::<Vec<_>>();
        assert_eq!(taken.len(), 1, "{taken:?}");
        assert!(
            taken[0].contains("host \"laptop\" wrote at 2") && taken[0].contains("its work is"),
            "{taken:?}"
        );
        let back = world.log.events(|kind| *kind == EventKind::Active);
        assert_eq!(back, 2, "both of them run it: {:?}", world.log.told());
        check_no_slot_twice(&world);
        one.stop().await;
        two.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn two_hosts_that_live_do_not_take_turns() {
    let world = World::new();
    let old = host(&world, "old", named(&world, "old", every(S), MS)).await;
    sleep(S * 3).await;
    let new = host(&world, "new", named(&world, "new", every(S * 600), S * 400)).await;
    sleep(S * 3600).await;
    assert_eq!(runs(&world, 0), ["old", "new"], "a run of minutes is no sign that nobody is there");
    assert_eq!(told(&world, "a: takes over").len(), 0);
    new.kill().await;
    sleep(S * 1200).await;
    let count = world.log.count();
    let new = host(&world, "new", named(&world, "new", every(S * 600), MS)).await;
    sleep(S * 1800).await;
    assert_eq!(runs(&world, 0), ["old", "new", "old", "new"], "{:?}", world.log.told());
    assert!(world.log.count() > count);
    check_no_slot_twice(&world);
    old.stop().await;
    new.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_host_without_a_free_worker_keeps_its_jobs() {
    let world = World::new();
    let old = host(&world, "old", named(&world, "old", every(S), MS)).await;
    sleep(S * 3).await;
    let hog = world.log.job("hog", every(S * 100_000), S * 1500);
    let busy = world.start(|s| s.host("busy").workers(1).job(hog)).await;
    sleep(S).await;
    busy.handle.put(named(&world, "new", every(S * 10), MS)).await.unwrap();
    let before = world.log.count();
    sleep(S * 1400).await;
    assert_eq!(runs(&world, before), [""; 0], "{:?}", world.log.told());
    sleep(S * 200).await;
    assert_eq!(runs(&world, before), ["new"], "{:?}", world.log.told());
    old.stop().await;
    busy.stop().await;
}

/// Such a slot is not settled in the note, so that it looks as if nobody were there.
#[tokio::test(start_paused = true)]
async fn a_host_that_leaves_its_slots_to_the_holder_of_a_lock_keeps_its_jobs() {
    for held in ["x", "g/a"] {
        let world = World::new();
        let old = host(&world, "old", named(&world, "old", every(S), MS)).await;
        sleep(S * 3).await;
        let new = named(&world, "new", every(S * 600), MS).lock("x").busy(Busy::Skip);
        let new = host(&world, "new", new).await;
        // Its first look may find the lock taken.
        sleep(S * 100).await;
        let guard = world.client().await.mutex(held).lock().await.unwrap();
        let before = world.log.count();
        sleep(S * 1400).await;
        assert_eq!(runs(&world, before), [""; 0], "{held}: {:?}", world.log.told());
        guard.finish().await.unwrap();
        sleep(S * 1000).await;
        assert_eq!(runs(&world, before), ["new"], "{held}: {:?}", world.log.told());
        old.stop().await;
        new.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn who_stands_by_says_why_and_is_listed_until_it_runs_the_job() {
    let world = World::new();
    let old = host(&world, "old", named(&world, "old", every(S), MS)).await;
    sleep(S * 3).await;
    let new = host(&world, "new", named(&world, "new", every(S * 2), MS)).await;
    sleep(S * 3).await;
    let client = world.client().await;
    let jobs = Jobs::new(&client, "g");
    let listed = async || jobs.list().await.unwrap().remove(0);
    let stands = told(&world, "a: stands by");
    let text = "host \"new\" wrote another definition at 2";
    assert!(stands.len() == 1 && stands[0].contains(text), "{:?}", world.log.told());
    assert!(stands[0].contains("its trigger is \"fixed rate 2s\", here \"fixed rate 1s\""), "{stands:?}");
    let standby = listed().await.standby;
    assert_eq!(standby[0].host.as_deref(), Some("old"));
    sleep(S * 1800).await;
    let later = listed().await.standby;
    assert_eq!((later.len(), later[0].since), (1, standby[0].since), "it goes on to say so");
    assert!(later[0].seen > standby[0].seen);
    new.stop().await;
    sleep(S * 150).await;
    assert_eq!(listed().await.standby, [], "it runs the job");
    let new = host(&world, "new", named(&world, "new", every(S * 2), MS)).await;
    sleep(S * 3).await;
    old.kill().await;
    let old = host(&world, "old", named(&world, "old", every(S), MS)).await;
    sleep(S * 3).await;
    let hosts: Vec<_> = listed().await.standby.into_iter().filter_map(|standby| standby.host).collect();
    assert_eq!(hosts, ["new"], "the other one was restarted, and has the newest definition");
    new.kill().await;
    sleep(S * 800).await;
    assert_eq!(listed().await.standby, [], "what was not repeated is forgotten");
    old.stop().await;
}

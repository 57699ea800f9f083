//! Runs at a time of their own: started once, by whichever replica, unless they are cancelled.

use super::world::{MS, Replica, S, World, assert_times, sleep};
use cotter_scheduler::{Ending, ErrorKind, Job, Jobs, OneShot, Run, Trigger, UnixTime};
use cotter_testkit::faulty::{Faults, Faulty, Plan};
use cotter_testkit::history::{Kind, demand};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

fn jobs(replica: &Replica) -> Jobs {
    Jobs::new(&replica.client, "g").by("alice")
}

fn on_demand(world: &World, takes: Duration) -> Job {
    world.log.job("a", Trigger::on_demand(), takes)
}

#[tokio::test(start_paused = true)]
async fn it_survives_who_added_it_and_is_run_by_another_replica() {
    let (world, begin) = (World::new(), Instant::now());
    let seen = Arc::<Mutex<Vec<_>>>::default();
    let (log, told) = (world.log.clone(), seen.clone());
    let job = Job::new("a", Trigger::on_demand(), move |run: Run| {
        log.add("a", &run);
        told.lock().unwrap().push((run.one_shot().map(str::to_owned), run.arguments().clone()));
        async {}
    });
    let one = world.start(|s| s.job(job.clone())).await;
    let two = world.start(|s| s.job(job.clone())).await;
    let three = world.start(|s| s.job(job)).await;
    sleep(S).await;
    let id = jobs(&one).add("a", OneShot::after(S * 300).argument("order", "17")).await.unwrap();
    let pending = jobs(&two).pending().await.unwrap();
    assert_eq!((pending.len(), &pending[0].id, pending[0].taken), (1, &id, false));
    assert_eq!((pending[0].job.as_str(), pending[0].added_by.as_str()), ("a", "alice"));
    one.kill().await;
    sleep(S * 600).await;
    assert_times(&world.log.millis(begin), &[301_000]);
    let arguments = BTreeMap::from([("order".to_owned(), "17".to_owned())]);
    assert_eq!(*seen.lock().unwrap(), [(Some(id.clone()), arguments)]);
    let history = jobs(&two).history("a").await.unwrap();
    assert_eq!(
        (history.len(), &history[0].one_shot, &history[0].ending),
        (1, &Some(id.clone()), &Ending::Ok)
    );
    assert!(jobs(&two).pending().await.unwrap().is_empty(), "it is over");
    assert!(!jobs(&two).cancel(&id).await.unwrap());
    // The others still remember it, and find that it is over.
    jobs(&two).trigger("a").await.unwrap();
    sleep(S * 10).await;
    assert_eq!(world.log.count(), 2);
    two.stop().await;
    three.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_added_while_nobody_is_there_runs_when_somebody_is() {
    let world = World::new();
    // Each client takes the time when it is made.
    let (early, late) = (world.client().await, world.client().await);
    let jobs = Jobs::new(&early, "g");
    let first = world.start_on(early, |s| s.job(on_demand(&world, MS)), S);
    sleep(S).await;
    first.stop().await;
    jobs.add("a", OneShot::after(S * 10)).await.unwrap();
    jobs.add("a", OneShot::at(UnixTime::EPOCH)).await.unwrap();
    sleep(S * 1000).await;
    let begin = Instant::now();
    let second = world.start_on(late, |s| s.job(on_demand(&world, MS * 100)), S);
    sleep(S).await;
    assert_times(&world.log.millis(begin), &[0, 100]);
    assert_eq!(world.log.starts()[0].slot, UnixTime::EPOCH, "the oldest first");
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_id_is_added_once_until_it_has_run_and_then_again() {
    let world = World::new();
    let replica = world.start(|s| s.job(on_demand(&world, MS))).await;
    sleep(S).await;
    for round in 1..=3 {
        for _ in 0..3 {
            let id = jobs(&replica).add("a", OneShot::after(S).id("order-17")).await.unwrap();
            assert_eq!(id, "order-17");
        }
        sleep(S * 5).await;
        assert_eq!(world.log.count(), round, "once for each time it was added anew");
    }
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn it_waits_while_the_job_is_paused_and_is_repeated_if_it_fails() {
    let (world, begin) = (World::new(), Instant::now());
    let log = world.log.clone();
    let job = Job::new("a", Trigger::fixed_rate(S * 3600).unwrap(), move |run: Run| {
        log.add("a", &run);
        let fails = run.one_shot().is_some() && run.attempt() < 3;
        async move { if fails { Err("not yet") } else { Ok(()) } }
    });
    let job = job.retries(5).retry_delay(S * 10);
    let late = world.client().await;
    let replica = world.start(|s| s.job(job.clone())).await;
    sleep(S).await;
    jobs(&replica).pause("a").await.unwrap();
    jobs(&replica).add("a", OneShot::after(S).id("x")).await.unwrap();
    sleep(S * 99).await;
    jobs(&replica).resume("a").await.unwrap();
    sleep(S * 5).await;
    assert!(jobs(&replica).pending().await.unwrap()[0].taken, "until it is over");
    assert!(!jobs(&replica).cancel("x").await.unwrap(), "it has started");
    // The third attempt is made by another process.
    sleep(S * 8).await;
    replica.kill().await;
    let replica = world.start_on(late, |s| s.job(job), S);
    sleep(S * 50).await;
    let attempts: Vec<_> = world.log.starts().iter().map(|start| start.attempt).collect();
    assert_eq!(attempts, [1, 1, 2, 3], "{:?}", world.log.told());
    assert_times(&world.log.millis(begin)[..3], &[0, 100_000, 110_000]);
    assert!(jobs(&replica).pending().await.unwrap().is_empty());
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_run_is_refused() {
    let world = World::new();
    let replica = world.start(|s| s.job(on_demand(&world, MS))).await;
    sleep(S).await;
    let refused = async |one_shot| jobs(&replica).add("a", one_shot).await.unwrap_err().to_string();
    assert!(refused(OneShot::after(S).id("")).await.contains("1 to 100 bytes"));
    assert!(refused(OneShot::after(S).id("a\nb")).await.contains("control characters"));
    assert!(refused(OneShot::after(S).argument("a", "x".repeat(2000))).await.contains("2001 bytes"));
    assert!(refused(OneShot::after(Duration::MAX)).await.contains("1970 to 2099"));
    let error = jobs(&replica).add("typo", OneShot::after(S)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownJob);
    replica.stop().await;
}

/// The figures of docs/scheduler.md. They are far from the size of all notes together, because the first one that is full refuses.
#[tokio::test(start_paused = true)]
async fn a_group_has_room_for_as_many_pending_runs_as_the_page_says() {
    for (bytes, wanted) in [(100, 10_000), (Jobs::MAX_ARGUMENTS, 2000)] {
        let world = World::new();
        let replica = world.start(|s| s.job(on_demand(&world, MS))).await;
        sleep(S).await;
        let jobs = jobs(&replica);
        // Nobody follows what is added.
        replica.stop().await;
        let one_shot =
            |n| OneShot::after(S * 3600).id(format!("order {n}")).argument("a", "x".repeat(bytes - 1));
        for n in 0..wanted {
            jobs.add("a", one_shot(n)).await.unwrap();
        }
        assert_eq!(jobs.pending().await.unwrap().len(), wanted);
        if bytes < Jobs::MAX_ARGUMENTS {
            continue;
        }
        let mut n = wanted;
        let error = loop {
            match jobs.add("a", one_shot(n)).await {
                Ok(_) => n += 1,
                Err(error) => break error,
            }
        };
        assert!(n < 64 * 64, "{n} do not fit");
        assert_eq!(error.kind(), ErrorKind::Job);
        assert_eq!(
            error.to_string(),
            "too many one-shot runs are pending in group \"g\"; wait until some have run"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_without_slots_is_known_again_after_its_note_is_gone() {
    let world = World::new();
    let replica = world.start(|s| s.job(on_demand(&world, MS))).await;
    sleep(S).await;
    jobs(&replica).add("a", OneShot::after(S * 3600)).await.unwrap();
    jobs(&replica).forget("a").await.unwrap();
    assert!(jobs(&replica).pending().await.unwrap().is_empty(), "forgotten with the job");
    assert!(jobs(&replica).add("a", OneShot::after(S)).await.is_err());
    sleep(S * 61).await;
    jobs(&replica).add("a", OneShot::after(S)).await.unwrap();
    sleep(S * 2).await;
    assert_eq!(world.log.count(), 1);
    replica.stop().await;
}

/// Two more runs are pending when the replica that runs one of them dies, at every moment in turn.
#[tokio::test(start_paused = true)]
async fn whoever_dies_at_whatever_moment_none_is_started_twice_and_none_is_lost() {
    let (mut crashed, mut early) = (0, 0);
    for moment in 0..120 {
        let (world, faults) = (World::new(), Faults::seeded(moment));
        let client = world.client_of(|s| Faulty::new(s, &faults)).await;
        // Each client takes the time of day when it is made.
        let other = world.client().await;
        let first = world.start_on(client, |s| s.job(on_demand(&world, MS * 500)), S);
        sleep(S).await;
        let mut ids = Vec::new();
        for n in 0..3 {
            let id = jobs(&first).add("a", OneShot::after(S + MS * n)).await.unwrap();
            ids.push(id);
        }
        faults.set(Plan { before: MS * 40, after: MS * 40, ..Plan::default() });
        sleep(MS * 900 + MS * 20 * moment as u32).await;
        early += usize::from(world.log.count() == 0);
        first.kill().await;
        let second = world.start_on(other, |s| s.job(on_demand(&world, MS)), S);
        sleep(S * 60).await;
        let slots = world.log.slots();
        let twice = slots.iter().any(|slot| slots.iter().filter(|other| *other == slot).count() > 1);
        demand(!twice, Kind::SlotTwice, format!("moment {moment}: {slots:?}"));
        let history = jobs(&second).history("a").await.unwrap();
        for id in &ids {
            let runs: Vec<_> = history.iter().filter(|entry| entry.one_shot.as_ref() == Some(id)).collect();
            demand(runs.len() < 2, Kind::SlotTwice, format!("moment {moment}: {runs:?}"));
            demand(runs.len() == 1, Kind::SlotMissing, format!("moment {moment}: {id} in {history:?}"));
        }
        crashed += history.iter().filter(|entry| entry.ending == Ending::Crashed).count();
        assert!(jobs(&second).pending().await.unwrap().is_empty(), "moment {moment}");
        second.stop().await;
    }
    assert!(crashed > 20 && early > 5, "{crashed} crashed, {early} had not begun");
}

#[tokio::test(start_paused = true)]
async fn it_is_cancelled_or_started_at_whatever_moment() {
    let (mut cancelled, mut started) = (0, 0);
    for moment in 0..80 {
        let (world, faults) = (World::new(), Faults::seeded(moment));
        let client = world.client_of(|s| Faulty::new(s, &faults)).await;
        let operator = Jobs::new(&world.client().await, "g");
        let replica = world.start_on(client, |s| s.job(on_demand(&world, MS)), S);
        sleep(S).await;
        let id = operator.add("a", OneShot::after(S)).await.unwrap();
        faults.set(Plan { before: MS * 50, after: MS * 50, ..Plan::default() });
        sleep(MS * 800 + MS * 10 * moment as u32).await;
        let is_cancelled = operator.cancel(&id).await.unwrap();
        sleep(S * 60).await;
        let ran = world.log.count();
        let is_right = ran == usize::from(!is_cancelled);
        demand(is_right, Kind::SlotTwice, format!("moment {moment}: cancelled {is_cancelled}, {ran} runs"));
        cancelled += usize::from(is_cancelled);
        started += ran;
        replica.stop().await;
    }
    assert!(cancelled > 10 && started > 10, "{cancelled} cancelled, {started} started");
}

#[tokio::test(start_paused = true)]
async fn lost_replies_start_none_twice() {
    for seed in 0..10 {
        let (world, faults) = (World::new(), Faults::seeded(seed));
        let mut replicas = Vec::new();
        for _ in 0..3 {
            let client = world.client_of(|store| Faulty::new(store, &faults)).await;
            replicas.push(world.start_on(client, |s| s.job(on_demand(&world, MS * 10)), S));
        }
        sleep(S).await;
        let operator = Jobs::new(&world.client().await, "g");
        for n in 0..40 {
            operator.add("a", OneShot::after(S + MS * 500 * n)).await.unwrap();
        }
        faults.set(Plan {
            lost_replies: 0.1,
            refused: 0.1,
            before: MS * 50,
            after: MS * 50,
            ..Plan::default()
        });
        sleep(S * 60).await;
        faults.set(Plan::default());
        sleep(S * 30).await;
        let mut slots = world.log.slots();
        slots.sort();
        let started = slots.len();
        slots.dedup();
        demand(slots.len() == started, Kind::SlotTwice, format!("seed {seed}: {slots:?}"));
        demand(started == 40, Kind::SlotMissing, format!("seed {seed}: {started} {:?}", world.log.told()));
        assert!(operator.pending().await.unwrap().is_empty(), "seed {seed}");
        for replica in replicas {
            replica.stop().await;
        }
    }
}

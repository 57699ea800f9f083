//! What the notes of jobs hold, and what they cost.

use super::world::{MS, S, World, sleep};
use cotter::Client;
use cotter_scheduler::{Ending, EventKind, Job, JobStatus, Jobs, Run, Scheduler, Trigger};
use cotter_testkit::faulty::{Faults, Faulty, Plan};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::late::{Late, Replica};
use cotter_testkit::servers::Redis;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

const MANY: usize = 10_000;

fn every(period: Duration) -> Trigger {
    Trigger::fixed_rate(period).unwrap()
}

/// A replica that reads old notes starts nothing by them, and goes on when it reads the new ones. One of its own notes may be the
/// newest when the copy stops.
#[tokio::test(start_paused = true)]
async fn who_reads_an_old_note_starts_nothing() {
    let (world, copy) = (World::new(), Replica::default());
    let client = world.client_of(|store| Late::new(store, &copy)).await;
    let job = world.log.job("a", every(S * 10), MS);
    let replica = world.start_on(client, |s| s.job(job), S);
    sleep(S * 35).await;
    copy.stand_still(true);
    let before = world.log.count();
    sleep(S * 200).await;
    let slots = world.log.slots();
    let twice = slots.iter().enumerate().find(|(at, slot)| slots[..*at].contains(slot));
    demand(twice.is_none(), Kind::SlotTwice, format!("{twice:?} of {slots:?}"));
    assert!(!slots.is_empty());
    let over_unread = slots.len() <= before + 1;
    demand(
        over_unread,
        Kind::LostWrite,
        format!("runs over notes that were not read: {before}, then {slots:?}"),
    );
    assert!(world.log.told().iter().any(|told| told.contains("out of date")), "{:?}", world.log.told());
    copy.stand_still(false);
    sleep(S * 100).await;
    assert!(world.log.count() > before + 5, "{:?}", world.log.told());
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_history_keeps_as_many_runs_as_it_should() {
    for kept in [0, 3, 100, 1000] {
        let world = World::new();
        let job = world.log.job("a", every(S), MS);
        let replica = world.start(|s| s.job(job).history(kept)).await;
        sleep(S * 1100 + MS * 500).await;
        let jobs = Jobs::new(&replica.client, "g");
        replica.stop().await;
        let history = jobs.history("a").await.unwrap();
        let wanted = if kept == 0 { 5 } else { kept };
        assert!(history.len() <= wanted.max(5) && history.len() >= kept, "{} of {kept}", history.len());
        assert!(history.windows(2).all(|pair| pair[1].slot.since(pair[0].slot) == S), "without a gap");
        assert_eq!(history.last().map(|run| run.slot), world.log.starts().last().map(|start| start.slot));
    }
    let client = World::new().client().await;
    let error = Scheduler::new(&client, "g").history(1001).run_until(async {}, S).await.unwrap_err();
    assert_eq!(error.to_string(), "a history of 1001 runs is too long, at most 1000 are kept");
}

#[tokio::test(start_paused = true)]
async fn a_history_that_was_longer_once_is_forgotten_as_a_whole() {
    let world = World::new();
    // Each client takes the time of day when it is made.
    let client = world.client().await;
    let jobs = Jobs::new(&client, "g");
    for (kept, seconds) in [(60, 50), (3, 10), (60, 5)] {
        let job = world.log.job("a", every(S), MS);
        let replica = world.start_on(client.clone(), |s| s.job(job).history(kept), S);
        sleep(S * seconds + MS * 500).await;
        replica.stop().await;
        if kept == 3 {
            jobs.forget("a").await.unwrap();
        }
    }
    let history = jobs.history("a").await.unwrap();
    assert!((4..=7).contains(&history.len()), "{} runs: {history:?}", history.len());
}

#[tokio::test(start_paused = true)]
async fn a_history_has_host_code_and_output_of_failures() {
    let world = World::new();
    let job = Job::new("a", every(S), |run: Run| async move {
        run.set_exit_code(3);
        run.set_output(format!("{}é{}", "x".repeat(2000), "y".repeat(1023)));
        if run.slot().seconds() % 2 == 0 { Err("no") } else { Ok(()) }
    });
    let replica = world.start(|s| s.job(job).host("one")).await;
    // Between two slots: at the moment of one, it may or may not have been run.
    sleep(S * 60 + S / 2).await;
    let jobs = Jobs::new(&replica.client, "g");
    let status = &jobs.list().await.unwrap()[0];
    assert_eq!((status.host.as_deref(), status.attempt), (Some("one"), Some(1)));
    assert!(status.succeeded.is_some_and(|at| at >= replica.handle.now() - S * 3));
    assert!(status.next_slot.is_some_and(|at| at > replica.handle.now() && at <= replica.handle.now() + S));
    let history = jobs.history("a").await.unwrap();
    assert!(history.len() >= 59 && history.iter().all(|run| run.host == "one" && run.code == Some(3)));
    for run in &history {
        assert_eq!(run.ending != Ending::Ok, run.slot.seconds() % 2 == 0);
        assert!(run.output.is_none() || run.ending != Ending::Ok);
    }
    let failed: Vec<_> = history.iter().filter(|run| run.ending != Ending::Ok).collect();
    let outputs = failed.iter().filter_map(|run| run.output.as_deref());
    assert!(outputs.clone().all(|text| text == "y".repeat(1023)), "the last KiB, of whole characters");
    assert_eq!(outputs.count(), 16);
    assert!(failed[failed.len() - 16..].iter().all(|run| run.output.is_some()), "of the last ones");
    replica.stop().await;
}

/// What is listed is what is the case: the next slot is the first one that nobody has run, and not the first one from now on.
#[tokio::test(start_paused = true)]
async fn what_no_scheduler_starts_is_listed_as_overdue() {
    let world = World::new();
    let begin = |s: Scheduler| {
        s.job(Job::new("each-minute", every(S * 60), |_| async {}))
            .job(Job::new("on-demand", Trigger::on_demand(), |_| async {}))
            .job(Job::new("paused", every(S), |_| async {}))
    };
    let replica = world.start(begin).await;
    let (jobs, clock) = (Jobs::new(&replica.client, "g"), replica.handle.clone());
    sleep(S).await;
    jobs.pause("paused").await.unwrap();
    sleep(S * 90).await;
    let overdue = async || {
        let list = jobs.list().await.unwrap();
        list.into_iter().map(|job| (job.overdue_since, job.next_slot)).collect::<Vec<_>>()
    };
    let healthy = overdue().await;
    assert!(healthy.iter().all(|(since, _)| since.is_none()), "{healthy:?}");
    assert!(healthy[0].1.is_some_and(|next| next > clock.now()));
    replica.stop().await;
    jobs.trigger("on-demand").await.unwrap();
    let asked = jobs.now().await.unwrap();
    sleep(JobStatus::OVERDUE - MS * 100).await;
    assert_eq!(overdue().await[1].0, None, "it may still be started in time");
    sleep(S * 300).await;
    let stopped = overdue().await;
    assert_eq!(stopped[0].0, healthy[0].1, "violation[unseen]: since the first slot that was not run");
    assert_eq!(stopped[0].1, healthy[0].1, "violation[unseen]: which is still the next one");
    assert!(stopped[1].0.is_some_and(|since| since <= asked && asked <= since + S), "since the request");
    assert_eq!(stopped[2], (None, None), "nobody has to start a paused job");
    let replica = world.start(begin).await;
    sleep(S * 2).await;
    let again = overdue().await;
    assert!(again.iter().all(|(since, _)| since.is_none()), "{again:?}");
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_jobs_are_listed_and_paused_in_few_round_trips() {
    let (world, faults) = (World::new(), Faults::seeded(1));
    // Names that are long, so that a note with too many of them overflows.
    let name = |n: usize| format!("{n:05}{}", "x".repeat(120));
    let first = world.client().await;
    let jobs = (0..MANY).map(|n| Job::new(name(n), Trigger::cron("0 0 0 1 1 ? 2099").unwrap(), |_| async {}));
    let replica = world.start_on(first.clone(), |s| s.workers(100).jobs(jobs), S);
    sleep(S * 60).await;
    let slow = world.client_of(|store| Faulty::new(store, &faults)).await;
    // An answer takes between 0 and 200 ms.
    faults.set(Plan { before: MS * 100, after: MS * 100, ..Plan::default() });
    let begin = Instant::now();
    let listed = Jobs::new(&slow, "g").list().await.unwrap();
    assert_eq!(listed.len(), MANY);
    let took = Instant::now() - begin;
    assert!(took <= MS * 200 * 20, "more than 20 round trips: {took:?}");
    // Each job has a request of its own.
    let jobs = Jobs::new(&first, "g").by("somebody with a rather long name");
    for n in 0..MANY {
        jobs.pause(&name(n)).await.unwrap();
    }
    sleep(S).await;
    assert!(jobs.list().await.unwrap().iter().all(|job| job.paused));
    let paused = world.log.events(|e| matches!(e, EventKind::Paused { yes: true, .. }));
    assert_eq!(paused, MANY, "the runner has seen all of them");
    replica.stop().await;
}

/// Bytes that a server has received and sent, without the answer to this question, which the next one would count.
async fn traffic(port: u16) -> (u64, u64, u64) {
    use std::io::{Read, Write};
    tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(b"INFO stats\r\nQUIT\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let number = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            line.trim().parse().unwrap()
        };
        (number("total_net_input_bytes:"), number("total_net_output_bytes:"), text.len() as u64)
    })
    .await
    .unwrap()
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_run_costs_the_same_traffic_however_long_the_history_is() {
    let redis = Redis::start();
    let client = Client::connect(redis.url("")).await.unwrap();
    let runs = Arc::new(AtomicU64::new(0));
    let counted = runs.clone();
    let job = Job::new("a", every(MS * 100), move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        async {}
    });
    let scheduler = Scheduler::new(&client, "g").host("app-server-17").history(30).job(job);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let runner = tokio::spawn(scheduler.run_until(stopped, S));
    let reached = async |wanted| {
        while runs.load(Ordering::Relaxed) < wanted {
            sleep(MS * 5).await;
        }
        let (bytes, runs) = (traffic(redis.port()).await, runs.load(Ordering::Relaxed));
        (bytes, runs)
    };
    let mut figures = Vec::new();
    // By then scripts are loaded, and later the history is full.
    for history in [3, 40] {
        let (before, from) = reached(history).await;
        let (after, to) = reached(from + 36).await;
        figures.push(((after.0 - before.0) / (to - from), (after.1 - before.1 - before.2) / (to - from)));
    }
    let _ = stop.send(());
    runner.await.unwrap().unwrap();
    let [short, full] = figures[..] else { panic!("{figures:?}") };
    // Where in a run it is counted makes a difference of some bytes, either way.
    let total = (short.0 + short.1 + full.0 + full.1) / 2;
    // A history of another length than usual is said in the note, which passes by three times.
    let unusual = 3 * r#""m":30,"#.len() as u64;
    // Before one run in three, the note is written once more: it has to be the newest one when earlier runs move from it to
    // the history.
    let confirmed = 256;
    // Each of five or six scripts is given all keys of the lock, of which it derived four before: servers that check which keys a
    // script touches ask for that.
    let keys = ["r", "h", "e", "none"].iter().map(|end| "$16\r\ncotter:{g/a}:\r\n".len() + end.len());
    let declared = 6 * keys.sum::<usize>() as u64;
    let most = 2048 + unusual + confirmed + declared;
    assert!(total <= most, "bytes to and from the server for each run: {figures:?}");
    assert!(full.0 < short.0 + 500 && full.1 < short.1 + 500, "it depends on the history: {figures:?}");
}

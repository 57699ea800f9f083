//! The histories of several jobs.

use super::world::{MS, S, World, sleep};
use cotter_scheduler::{Ending, ErrorKind, Job, Jobs, Run, Scheduler, Trigger};
use cotter_testkit::faulty::{Call, Faults, Faulty, Plan};
use cotter_testkit::history::{Kind, demand};
use std::time::Duration;
use tokio::time::Instant;

fn every(period: Duration) -> Trigger {
    Trigger::fixed_rate(period).unwrap()
}

/// A job that fails, and says so.
fn failing(name: &str, period: Duration) -> Job {
    Job::new(name, every(period), |run: Run| async move {
        run.set_output("why");
        Err::<(), _>("no")
    })
}

#[tokio::test(start_paused = true)]
async fn a_history_tells_from_when_on_it_keeps_runs() {
    for (kept, seconds) in [(0, 2), (0, 8), (6, 5), (6, 30), (100, 30), (100, 250)] {
        let world = World::new();
        let client = world.client().await;
        let job = world.log.job("a", every(S), MS);
        let replica = world.start_on(client.clone(), |s| s.job(job).history(kept), S);
        sleep(S * seconds + MS * 500).await;
        replica.stop().await;
        let all = Jobs::new(&client, "g").histories(None).await.unwrap().remove(0);
        let is_cut = all.runs.len() < world.log.count();
        let told = format!("{kept} of {}: {} from {:?}", world.log.count(), all.runs.len(), all.kept_from);
        demand(all.kept_from.is_some() == is_cut, Kind::Untrue, told);
        assert!(all.kept_from.is_none_or(|from| from == all.runs[0].started));
        assert_eq!(is_cut, seconds as usize > kept.max(2), "the test tries both");
    }
}

/// Between them, the history was switched off.
#[tokio::test(start_paused = true)]
async fn runs_of_which_nothing_was_kept_are_missing_too() {
    let world = World::new();
    let client = world.client().await;
    for (kept, seconds) in [(0, 10), (100, 10)] {
        let job = world.log.job("a", every(S), MS);
        let replica = world.start_on(client.clone(), |s| s.job(job).history(kept), S);
        sleep(S * seconds + MS * 500).await;
        replica.stop().await;
    }
    let all = Jobs::new(&client, "g").histories(None).await.unwrap().remove(0);
    assert!(all.runs.len() < world.log.count() && all.runs.len() >= 10, "{} runs", all.runs.len());
    demand(all.kept_from == Some(all.runs[0].started), Kind::Untrue, format!("{:?}", all.kept_from));
}

/// However many runs there were, and whether or not they are kept.
#[tokio::test(start_paused = true)]
async fn the_last_endings_of_a_job_are_those_of_its_last_runs() {
    for (kept, seconds) in [(100, 1), (100, 2), (100, 9), (100, 25), (0, 25)] {
        let world = World::new();
        let log = world.log.clone();
        let job = Job::new("a", every(S), move |run: Run| {
            log.add("a", &run);
            let fails = log.count().is_multiple_of(3);
            async move { if fails { Err("no") } else { Ok(()) } }
        });
        let replica = world.start(|s| s.job(job).history(kept)).await;
        sleep(S * seconds + MS * 500).await;
        let word = |number: usize| if number.is_multiple_of(3) { "failed" } else { "ok" };
        let (last, count) = (endings(&Jobs::new(&replica.client, "g")).await, world.log.count());
        let wanted: Vec<_> = (count.saturating_sub(9).max(1)..=count).map(word).collect();
        assert!(count >= seconds as usize);
        demand(last == wanted, Kind::Untrue, format!("of {count} runs, {kept} kept: {last:?}"));
        replica.stop().await;
    }
}

async fn endings(jobs: &Jobs) -> Vec<&'static str> {
    let listed = jobs.list().await.unwrap().remove(0);
    listed.last_endings.iter().map(Ending::word).collect()
}

#[tokio::test(start_paused = true)]
async fn several_histories_are_those_of_each() {
    let world = World::new();
    let client = world.client().await;
    let begin =
        |s: Scheduler| s.job(failing("a", S)).job(failing("b", S * 3)).job(failing("never", S * 9999));
    let replica = world.start_on(client.clone(), begin, S);
    sleep(S * 30).await;
    replica.stop().await;
    let jobs = Jobs::new(&client, "g");
    let all = jobs.histories(None).await.unwrap();
    assert_eq!(all.iter().map(|of| &of.job[..]).collect::<Vec<_>>(), ["a", "b", "never"]);
    for of in &all {
        assert_eq!(of.runs, jobs.history(&of.job).await.unwrap());
    }
    let named = ["never", "a"].map(str::to_owned);
    let some = jobs.histories_of(&named, None).await.unwrap();
    assert_eq!(some, [all[2].clone(), all[0].clone()], "in the order in which they are named");
    let (third, since) = (&all[0].runs[3..], all[0].runs[3].ended);
    assert_eq!(jobs.histories(Some(since)).await.unwrap()[0].runs, third);
    assert!(third.last().unwrap().output.as_deref() == Some("why"));
    for unknown in ["x", "g/a", "../g/a"] {
        let names = ["a".to_owned(), unknown.to_owned()];
        let error = jobs.histories_of(&names, None).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownJob, "{unknown}");
    }
}

/// The state of a job tells when its last run ended. Where that is long ago, nothing else is read.
#[tokio::test(start_paused = true)]
async fn two_thousand_histories_take_few_round_trips() {
    const MANY: usize = 2_000;
    let (world, faults) = (World::new(), Faults::seeded(1));
    let first = world.client().await;
    let jobs = (0..MANY).map(|n| failing(&format!("{n:04}"), S * 600));
    let replica = world.start_on(first.clone(), |s| s.workers(100).jobs(jobs), S);
    sleep(S * 3000).await;
    replica.stop().await;
    let slow = world.client_of(|store| Faulty::new(store, &faults)).await;
    let jobs = Jobs::new(&slow, "g");
    let now = jobs.now().await.unwrap();
    // An answer takes between 0 and 200 ms.
    faults.set(Plan { before: MS * 100, after: MS * 100, ..Plan::default() });
    let measure = async |since| {
        let (begin, calls) = (Instant::now(), faults.calls(Call::Note));
        let all = jobs.histories(Some(since)).await.unwrap();
        let runs = all.iter().map(|of| of.runs.len()).sum::<usize>();
        (runs, Instant::now() - begin, faults.calls(Call::Note) - calls)
    };
    let (runs, took, _) = measure(now - S * 3000).await;
    assert!(runs >= MANY * 4, "{runs}");
    assert!(took <= MS * 200 * 60, "more than 60 round trips: {took:?}");
    let (runs, took, calls) = measure(now + S).await;
    assert_eq!(runs, 0);
    assert!(calls <= MANY + 256, "more than the names and the states were read: {calls}");
    assert!(took <= MS * 200 * 10, "more than 10 round trips: {took:?}");
}

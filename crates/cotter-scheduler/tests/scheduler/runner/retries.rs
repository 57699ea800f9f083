//! What becomes of retries when a replica is killed or stopped inside an attempt, and between two.

use super::world::{MS, Replica, S, World, sleep};
use cotter_scheduler::{Entry, EventKind, Job, Jobs, OnCrash, Run, Trigger};
use cotter_testkit::faulty::{Faults, Faulty, Plan};
use cotter_testkit::history::{Kind, demand};
use std::fmt;

const RETRIES: u32 = 2;
/// With the first one.
const ATTEMPTS: usize = 1 + RETRIES as usize;

/// Fails after half a second, each time.
fn failing(world: &World) -> Job {
    let log = world.log.clone();
    let job = Job::new("a", Trigger::fixed_rate(S * 3600).unwrap(), move |run: Run| {
        log.add("a", &run);
        async {
            sleep(MS * 500).await;
            Err::<(), _>("no")
        }
    });
    job.retries(RETRIES).retry_delay(MS * 300)
}

async fn history(replica: &Replica) -> Vec<Entry> {
    Jobs::new(&replica.client, "g").history("a").await.unwrap()
}

fn words(history: &[Entry]) -> Vec<&'static str> {
    history.iter().map(|entry| entry.ending.word()).collect()
}

/// As `anyhow` has it: the causes are in the alternate form only.
struct Caused;

impl fmt::Display for Caused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if f.alternate() { "no import: no route to host" } else { "no import" })
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_recorded_with_its_causes() {
    let world = World::new();
    let hourly = Trigger::fixed_rate(S * 3600).unwrap();
    let replica =
        world.start(|s| s.job(Job::new("a", hourly, |_: Run| async { Err::<(), _>(Caused) }))).await;
    sleep(S).await;
    let history = history(&replica).await;
    let told = history.first().and_then(|entry| entry.ending.reason()).unwrap_or_default();
    demand(told == "no import: no route to host", Kind::Untrue, format!("the causes are missing: {told:?}"));
    replica.stop().await;
}

/// A crash uses up none of the retries, whenever it comes.
#[tokio::test(start_paused = true)]
async fn after_a_kill_at_whatever_moment_the_rest_of_the_retries_is_made_and_the_run_ends_once() {
    let (mut in_an_attempt, mut in_a_pause) = (0, 0);
    for moment in 0..140 {
        let (world, faults) = (World::new(), Faults::seeded(moment));
        let client = world.client_of(|s| Faulty::new(s, &faults)).await;
        // Each client takes the time of day when it is made.
        let other = world.client().await;
        let job = failing(&world).on_crash(OnCrash::Rerun);
        faults.set(Plan { before: MS * 20, after: MS * 20, ..Plan::default() });
        let first = world.start_on(client, |s| s.job(job.clone()), S);
        sleep(MS * 20 * moment as u32).await;
        let before = world.log.count();
        first.kill().await;
        let second = world.start_on(other, |s| s.job(job), S);
        sleep(S * 60).await;
        let history = history(&second).await;
        let found = words(&history);
        let of = |word: &str| found.iter().filter(|found| **found == word).count();
        let (failed, crashed) = (of("failed"), of("crashed"));
        let told = format!("moment {moment}: {history:?}");
        demand(failed >= ATTEMPTS, Kind::SlotMissing, format!("a retry is missing, {told}"));
        demand(failed == ATTEMPTS, Kind::SlotTwice, format!("one retry too many, {told}"));
        demand(crashed <= 1 && failed + crashed == found.len(), Kind::SlotTwice, told.clone());
        assert!(history.iter().zip(1..).all(|(entry, attempt)| entry.attempt == attempt), "{told}");
        let are_one = |pair: &[Entry]| pair[0].slot == pair[1].slot && pair[0].token < pair[1].token;
        assert!(history.windows(2).all(are_one), "one slot, and larger tokens: {told}");
        assert_eq!(found.last(), Some(&"failed"), "{told}");
        let ended = world.log.events(|e| matches!(e, EventKind::Ended { last: true, .. }));
        assert!(ended <= 1, "{:?}", world.log.told());
        in_an_attempt += crashed;
        in_a_pause += usize::from(crashed == 0 && (1..3).contains(&before));
        second.stop().await;
    }
    assert!(in_an_attempt > 40 && in_a_pause > 15, "{in_an_attempt} in an attempt, {in_a_pause} in a pause");
}

#[tokio::test(start_paused = true)]
async fn after_a_kill_inside_an_attempt_there_are_no_retries_without_rerun() {
    let world = World::new();
    let (other, first) = (world.client().await, world.start(|s| s.job(failing(&world))).await);
    sleep(S).await;
    assert_eq!(world.log.count(), 2, "in the second attempt");
    first.kill().await;
    let second = world.start_on(other, |s| s.job(failing(&world)), S);
    sleep(S * 60).await;
    assert_eq!(words(&history(&second).await), ["failed", "crashed"]);
    assert_eq!(world.log.count(), 2);
    second.stop().await;
}

/// One that fails by itself has its retries. One that had to be stopped has none, unless it is run again: a stop uses up no retry.
#[tokio::test(start_paused = true)]
async fn after_a_stop_inside_an_attempt_it_depends_on_the_grace() {
    let again = vec!["failed", "stopped", "failed", "failed"];
    for (grace, skip, rerun) in
        [(S, vec!["failed"; 3], vec!["failed"; 3]), (MS * 100, vec!["failed", "stopped"], again)]
    {
        for (on_crash, wanted) in [(OnCrash::Skip, skip), (OnCrash::Rerun, rerun)] {
            let world = World::new();
            let (client, other) = (world.client().await, world.client().await);
            let job = failing(&world).on_crash(on_crash);
            let first = world.start_on(client, |s| s.job(job.clone()), grace);
            sleep(S).await;
            first.stop().await;
            assert_eq!(world.log.count(), 2, "in the second attempt, and no third one by the same replica");
            let second = world.start_on(other, |s| s.job(job), S);
            sleep(S * 60).await;
            assert_eq!(words(&history(&second).await), wanted, "{grace:?}, {on_crash:?}");
            second.stop().await;
        }
    }
}

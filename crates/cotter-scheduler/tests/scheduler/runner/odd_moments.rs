//! Requests, changes of definitions and steps of clocks at moments when nobody expects them.

use super::world::{MS, S, World, assert_times, sleep};
use cotter_scheduler::{Busy, Concurrency, Ending, ErrorKind, EventKind, Job, Jobs, Run, Trigger};
use cotter_testkit::skewed::{Skew, Skewed};
use std::time::Duration;
use tokio::time::Instant;

fn every(period: Duration) -> Trigger {
    Trigger::fixed_rate(period).unwrap()
}

/// A job that fails at once, each time.
fn failing(world: &World) -> Job {
    let log = world.log.clone();
    let job = Job::new("a", every(S * 3600), move |run: Run| {
        log.add("a", &run);
        async { Err::<(), _>("no") }
    });
    job.retries(3).retry_delay(S * 10)
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_forgotten_while_it_is_paused_begins_anew() {
    let world = World::new();
    let replica = world.start(|s| s.job(world.log.job("a", every(S), MS))).await;
    sleep(MS * 500).await;
    let jobs = Jobs::new(&replica.client, "g");
    jobs.pause("a").await.unwrap();
    sleep(S * 5).await;
    assert_eq!(world.log.count(), 1, "paused");
    jobs.forget("a").await.unwrap();
    sleep(S * 5).await;
    assert!(world.log.count() >= 5, "{:?}", world.log.told());
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_removed_between_two_attempts_is_not_repeated() {
    let world = World::new();
    let replica = world.start(|s| s.job(failing(&world))).await;
    sleep(S * 5).await;
    assert!(replica.handle.remove("a").await.unwrap());
    sleep(S * 60).await;
    assert_eq!(world.log.count(), 1, "{:?}", world.log.told());
    let free = replica.client.mutex("g/a").try_lock().await.unwrap();
    assert!(free.is_some(), "its lock is free");
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_new_definition_takes_effect_between_two_attempts() {
    let world = World::new();
    let replica = world.start(|s| s.job(failing(&world).retry_delay(S * 1000))).await;
    sleep(S * 5).await;
    let well = world.log.job("a", every(S), MS);
    replica.handle.replace([well]).await.unwrap();
    sleep(S * 10).await;
    assert!(world.log.count() >= 10, "{} {:?}", world.log.count(), world.log.told());
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_paused_between_two_attempts_is_not_repeated_until_it_is_resumed() {
    let world = World::new();
    let replica = world.start(|s| s.job(failing(&world))).await;
    sleep(S * 5).await;
    let jobs = Jobs::new(&replica.client, "g");
    jobs.pause("a").await.unwrap();
    sleep(S * 60).await;
    assert_eq!(world.log.count(), 1, "{:?}", world.log.told());
    jobs.resume("a").await.unwrap();
    sleep(S * 60).await;
    let attempts: Vec<_> = world.log.starts().iter().map(|start| start.attempt).collect();
    assert_eq!(attempts, [1, 2, 3, 4]);
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_does_not_come_replaces_no_run() {
    let world = World::new();
    let cron = Trigger::cron("0/5 * * * * ?").unwrap();
    let job = world.log.job("a", cron, S * 12).concurrency(Concurrency::Replace).initial_delay(S * 3600);
    let replica = world.start(|s| s.job(job)).await;
    sleep(S).await;
    let jobs = Jobs::new(&replica.client, "g");
    jobs.trigger("a").await.unwrap();
    sleep(S * 20).await;
    let ending = |entries: Vec<cotter_scheduler::Entry>| entries.last().unwrap().ending.clone();
    assert_eq!(ending(jobs.history("a").await.unwrap()), Ending::Ok, "the first slot comes in an hour");
    replica
        .handle
        .put(world.log.job("a", every(S * 5), S * 12).concurrency(Concurrency::Replace))
        .await
        .unwrap();
    jobs.pause("a").await.unwrap();
    sleep(S * 20).await;
    jobs.trigger("a").await.unwrap();
    sleep(S * 20).await;
    assert_eq!(ending(jobs.history("a").await.unwrap()), Ending::Ok, "the job is paused");
    assert_eq!(world.log.count(), 2, "{:?}", world.log.told());
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_whose_clock_goes_forward_is_noticed_within_a_minute() {
    let (world, skew, begin) = (World::new(), Skew::default(), Instant::now());
    let client = world.client_of(|store| Skewed::new(store, &skew)).await;
    let job = world.log.job("a", every(S * 36_000), MS);
    let replica = world.start_on(client, |s| s.job(job), S);
    sleep(S * 10).await;
    skew.set_millis(36_000_000);
    sleep(S * 70).await;
    assert_eq!(world.log.count(), 2, "{:?} {:?}", world.log.millis(begin), world.log.told());
    replica.stop().await;
}

/// Whoever stands by must not take the lock at each slot, just when the other replica wants it.
#[tokio::test(start_paused = true)]
async fn who_stands_by_says_so_once_and_costs_the_other_no_slot() {
    let world = World::new();
    let job =
        |name, takes| world.log.job(name, every(S), takes).definition(format!("{takes:?}")).busy(Busy::Skip);
    let old = world.start(|s| s.jobs([job("a", MS * 100), job("b", MS * 100)])).await;
    sleep(S * 3).await;
    let new = world.start(|s| s.jobs([job("a", MS * 900), job("b", MS)])).await;
    sleep(S * 10).await;
    let before = world.log.count();
    sleep(S * 60).await;
    let count = |wanted: fn(&EventKind) -> bool| world.log.events(wanted);
    let stands = count(|kind| matches!(kind, EventKind::Standby { .. }));
    let again = count(|kind| *kind == EventKind::Active);
    assert_eq!((stands, again), (2, 0), "{:?}", world.log.told());
    assert!(world.log.count() - before >= 118, "{} {:?}", world.log.count() - before, world.log.told());
    old.stop().await;
    new.stop().await;
}

#[tokio::test(start_paused = true)]
async fn notes_that_cannot_be_read_are_reported_with_their_job() {
    let world = World::new();
    let replica = world.start(|s| s.job(world.log.job("a", every(S), MS))).await;
    sleep(S * 2).await;
    let jobs = Jobs::new(&replica.client, "g");
    jobs.pause_all().await.unwrap();
    sleep(S * 2).await;
    let note = replica.client.note_at("g", "group").await.unwrap().unwrap();
    let broken = replica.client.swap_note("g", "group", note.revision, "?").await.unwrap().unwrap();
    sleep(S * 150).await;
    let unread = |kind: &EventKind| matches!(kind, EventKind::RequestsUnreadable { .. });
    assert_eq!(world.log.events(unread), 1, "told once: {:?}", world.log.told());
    replica.client.swap_note("g", "group", broken, "{}").await.unwrap();
    let before = world.log.count();
    sleep(S * 70).await;
    assert!(world.log.count() > before, "requests have an effect again: {:?}", world.log.told());
    replica.stop().await;
    let guard = world.client().await.mutex("g/a").lock().await.unwrap();
    guard.put_note("?").await.unwrap();
    for error in [jobs.list().await.unwrap_err(), jobs.trigger("a").await.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::ForeignNote);
        assert!(error.to_string().contains("state of job \"a\""), "{error}");
    }
}

/// The number of requests is the same as before, and so nothing seems to have changed.
#[tokio::test(start_paused = true)]
async fn a_request_after_a_loss_of_data_has_an_effect() {
    let world = World::new();
    let replica = world.start(|s| s.job(world.log.job("a", every(S * 3600), MS))).await;
    sleep(S).await;
    let (client, jobs) = (&replica.client, Jobs::new(&replica.client, "g"));
    jobs.trigger("a").await.unwrap();
    sleep(S * 5).await;
    assert_eq!(world.log.count(), 2);
    let told = client.note_at("g", "group").await.unwrap().unwrap();
    let shard = async |number| {
        let key = format!("control-{number:02x}");
        client.note_at("g", &key).await.unwrap().map(|note| (key, note))
    };
    for number in 0..256 {
        let Some((key, note)) = shard(number).await else { continue };
        let asked = String::from_utf8(note.bytes).unwrap().replace("\"n\":1", "\"n\":2");
        client.swap_note("g", key, note.revision, asked).await.unwrap().unwrap();
    }
    client.swap_note("g", "group", told.revision, told.bytes).await.unwrap().unwrap();
    sleep(S * 5).await;
    assert_eq!(world.log.count(), 3, "{:?}", world.log.told());
    replica.stop().await;
}

/// Whoever wants no limit may say so with the longest time there is.
#[tokio::test(start_paused = true)]
async fn the_longest_times_are_no_limits() {
    let (world, begin) = (World::new(), Instant::now());
    let longest = |job: Job| {
        job.max_run(Duration::MAX)
            .stop_within(Duration::MAX)
            .misfire_window(Duration::MAX)
            .late_within(Duration::MAX)
            .retry_delay(Duration::MAX)
            .retries(1)
    };
    let rate = longest(world.log.job("rate", every(S * 10), S));
    let cron = longest(world.log.job("cron", Trigger::cron("0/10 * * * * ?").unwrap(), S));
    let late = world.log.job("late", every(S), S).initial_delay(Duration::MAX);
    let fails = longest(Job::new("fails", every(S), |_| async { Err::<(), _>("no") }));
    let client = world.client().await;
    let replica = world.start_on(client, |s| s.jobs([rate, cron, late, fails]), Duration::MAX);
    sleep(S * 25).await;
    replica.stop().await;
    let of = |name| world.log.starts().iter().filter(|start| start.job == name).count();
    assert_eq!((of("rate"), of("late")), (3, 0), "{:?}", world.log.told());
    assert!((2..=3).contains(&of("cron")));
    assert_times(&world.log.millis(begin)[..1], &[0]);
}

//! Requests to run slots that have passed.

use super::world::{MS, Replica, S, World, sleep};
use cotter_scheduler::{Backfill, Ending, ErrorKind, EventKind, Job, Jobs, OneShot, Run, Trigger, UnixTime};
use cotter_testkit::history::{Kind, demand};
use std::sync::{Arc, Mutex};

fn jobs(replica: &Replica) -> Jobs {
    Jobs::new(&replica.client, "g").by("alice")
}

fn at(text: &str) -> UnixTime {
    text.parse().unwrap()
}

fn day(number: u32) -> UnixTime {
    at(&format!("2020-01-{number:02}T00:00:00Z"))
}

/// All its slots have passed.
fn daily() -> Trigger {
    Trigger::cron("0 0 0 * * ? 2020").unwrap()
}

async fn begin(world: &World, takes: std::time::Duration) -> Replica {
    let job = world.log.job("a", daily(), takes);
    let replica = world.start(|s| s.job(job)).await;
    sleep(S).await;
    replica
}

/// A run is in progress, so that whatever is requested waits.
async fn busy(world: &World) -> (Replica, Jobs) {
    let replica = begin(world, S * 10).await;
    let jobs = jobs(&replica);
    jobs.trigger("a").await.unwrap();
    sleep(S).await;
    (replica, jobs)
}

async fn ids(jobs: &Jobs) -> Vec<String> {
    jobs.pending().await.unwrap().into_iter().map(|run| run.id).collect()
}

#[tokio::test(start_paused = true)]
async fn a_slot_is_run_as_if_it_were_due() {
    let world = World::new();
    let seen = Arc::<Mutex<Vec<_>>>::default();
    let told = seen.clone();
    let job = Job::new("a", daily(), move |run: Run| {
        told.lock().unwrap().push((run.slot(), run.one_shot().map(str::to_owned)));
        async {}
    });
    let replica = world.start(|s| s.job(job)).await;
    sleep(S).await;
    let request = jobs(&replica).trigger_slot("a", day(5)).await.unwrap();
    assert_eq!((request.job(), request.slot()), ("a", Some(day(5))));
    let entry = jobs(&replica).ended(&request).await.unwrap().expect("it has run");
    let runs = seen.lock().unwrap().clone();
    demand(runs == [(day(5), None)], Kind::SlotMissing, format!("not run as the slot: {runs:?}"));
    assert_eq!((entry.slot, entry.asked, entry.one_shot), (day(5), true, None));
    sleep(S * 600).await;
    assert_eq!(seen.lock().unwrap().len(), 1);
    assert!(jobs(&replica).pending().await.unwrap().is_empty());
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_waits_is_requested_once() {
    let world = World::new();
    let (replica, jobs) = busy(&world).await;
    let first = jobs.trigger_slot("a", day(5)).await.unwrap();
    let second = jobs.trigger_slot("a", day(5)).await.unwrap();
    let waiting = ids(&jobs).await;
    sleep(S * 60).await;
    let slots = &world.log.slots()[1..];
    demand(slots == [day(5).to_string()], Kind::SlotTwice, format!("requested twice: {slots:?}"));
    assert_eq!(waiting, ["a@2020-01-05T00:00:00Z"]);
    for request in [first, second] {
        assert!(jobs.ended(&request).await.unwrap().is_some(), "either was for this run");
    }
    // While it runs, and afterwards, it is another request.
    jobs.trigger_slot("a", day(5)).await.unwrap();
    sleep(S * 5).await;
    let again = jobs.trigger_slot("a", day(5)).await.unwrap();
    sleep(S * 6).await;
    let entry = jobs.ended(&again).await.unwrap().expect("it has run");
    assert_eq!((entry.slot, world.log.count()), (day(5), 4));
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_no_slot_is_refused_with_the_nearest_ones() {
    let world = World::new();
    let rate = world.log.job("rate", Trigger::fixed_rate(S * 3600).unwrap(), MS);
    let demand = world.log.job("demand", Trigger::on_demand(), MS);
    let delay = world.log.job("delay", Trigger::fixed_delay(S * 3600).unwrap(), MS);
    let off = world.log.job("off", daily(), MS).enabled(false);
    let spare = daily().starting(day(2)).except_days("2020-01-04/2020-01-06").unwrap();
    let spare = world.log.job("spare", spare, MS);
    let replica = world.start(|s| s.job(rate).job(demand).job(delay).job(off).job(spare)).await;
    sleep(S * 7300).await;
    let jobs = jobs(&replica);
    let first = jobs.list().await.unwrap().into_iter().find(|job| job.name == "rate").unwrap().first_started;
    let nearest = format!("the nearest ones are {first} and {}", first + S * 3600);
    let before = format!("the nearest one is {first}");
    for (job, slot, says) in [
        ("rate", first + MS, &*nearest),
        ("rate", first - MS, &before),
        ("rate", first + S * 360_000, "is in the future"),
        ("demand", day(5), "no slots that are known beforehand"),
        ("delay", day(5), "no slots that are known beforehand"),
        ("off", day(5), "is disabled"),
        ("spare", day(5), "the nearest ones are 2020-01-03T00:00:00Z and 2020-01-07T00:00:00Z"),
        ("spare", day(1), "the nearest one is 2020-01-02T00:00:00Z"),
        ("spare", at("1969-01-01T00:00:00Z"), "out of range"),
        ("spare", at("2022-01-01T00:00:00Z"), "the nearest one is 2020-12-31T00:00:00Z"),
    ] {
        let error = jobs.trigger_slot(job, slot).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Job);
        assert!(error.to_string().contains(says), "{job}, {slot}: {error}");
    }
    let none = jobs.backfill("spare", day(4), day(7)).await.unwrap_err().to_string();
    assert!(none.contains("2020-01-03T00:00:00Z and 2020-01-07T00:00:00Z"), "{none}");
    let none = jobs.backfill("spare", day(7), day(7)).await.unwrap_err().to_string();
    assert!(none.contains("is not before"), "{none}");
    assert!(jobs.pending().await.unwrap().is_empty());
    let again = jobs.trigger_slot("rate", first + S * 3600).await.unwrap();
    assert_eq!(jobs.ended(&again).await.unwrap().map(|entry| entry.slot), Some(first + S * 3600));
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn all_slots_of_some_days_run_in_order_and_never_too_many_wait() {
    let world = World::new();
    let replica = begin(&world, S).await;
    let jobs = jobs(&replica);
    let too_many = |slots, more, waiting| Backfill::TooMany { slots, more, waiting };
    let wide = jobs.backfill("a", day(1), day(18)).await.unwrap();
    demand(
        wide == too_many(17, false, 0) && jobs.pending().await.unwrap().is_empty(),
        Kind::PermitsOverLimit,
        format!("{wide:?}"),
    );
    jobs.trigger("a").await.unwrap();
    sleep(MS * 500).await;
    jobs.trigger_slot("a", day(30)).await.unwrap();
    assert_eq!(jobs.backfill("a", day(1), day(17)).await.unwrap(), too_many(16, false, 1));
    let Backfill::Requested(requests) = jobs.backfill("a", day(1), day(16)).await.unwrap() else {
        panic!("there is room for them");
    };
    let full = jobs.trigger_slot("a", day(20)).await.unwrap_err();
    assert!(full.is_retryable() && full.to_string().contains("16 requested slots"), "{full}");
    jobs.backfill("a", day(1), day(16)).await.unwrap();
    for request in &requests {
        assert_eq!(jobs.ended(request).await.unwrap().map(|entry| entry.slot), request.slot());
    }
    sleep(S * 60).await;
    let wanted: Vec<_> = (1..=15).chain([30]).map(|number| day(number).to_string()).collect();
    let slots = &world.log.slots()[1..];
    demand(slots == wanted, Kind::SlotMissing, format!("{slots:?}"));
    replica.stop().await;
}

/// Whoever comes second sees what the first has added, however close together they are.
#[tokio::test(start_paused = true)]
async fn two_requests_at_once_keep_to_the_limit_together() {
    let world = World::new();
    let (replica, first) = busy(&world).await;
    let second = Jobs::new(&world.client().await, "g");
    let both = tokio::join!(first.backfill("a", day(1), day(11)), second.backfill("a", day(11), day(21)));
    let both = [both.0.unwrap(), both.1.unwrap()];
    let waiting = ids(&first).await.len();
    demand(waiting <= Jobs::MAX_REQUESTS, Kind::PermitsOverLimit, format!("{waiting} wait: {both:?}"));
    let refused = Backfill::TooMany { slots: 10, more: false, waiting: 10 };
    assert_eq!(both.iter().filter(|one| **one == refused).count(), 1, "{both:?}");
    assert!(first.cancel("a@2020-01-01T00:00:00Z").await.unwrap() || both[0] == refused);
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn slots_that_wait_are_counted_until_they_begin() {
    let world = World::new();
    let (replica, jobs) = busy(&world).await;
    jobs.backfill("a", day(1), day(4)).await.unwrap();
    jobs.add("a", OneShot::after(S * 3600)).await.unwrap();
    let mut counts = Vec::new();
    // The run that is in progress, and three more, each of ten seconds.
    for _ in 0..5 {
        counts.push(jobs.list().await.unwrap()[0].requested_slots);
        sleep(S * 10).await;
    }
    demand(counts == [3, 2, 1, 0, 0], Kind::Untrue, format!("{counts:?}"));
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_slot_runs_and_is_repeated_while_the_job_is_paused() {
    let world = World::new();
    let log = world.log.clone();
    let job = Job::new("a", daily(), move |run: Run| {
        log.add("a", &run);
        async move { if run.attempt() == 1 { Err("not yet") } else { Ok(()) } }
    });
    let replica = world.start(|s| s.job(job.retries(1).retry_delay(S * 10))).await;
    sleep(S).await;
    let jobs = jobs(&replica);
    jobs.pause("a").await.unwrap();
    // These wait, and are earlier.
    for _ in 0..3 {
        jobs.add("a", OneShot::at(day(1))).await.unwrap();
    }
    let request = jobs.trigger_slot("a", day(5)).await.unwrap();
    sleep(S * 60).await;
    let slots = world.log.slots();
    let wanted = vec![day(5).to_string(); 2];
    demand(slots == wanted, Kind::SlotMissing, format!("of a paused job: {slots:?}"));
    let entry = jobs.ended(&request).await.unwrap().expect("it has run");
    assert_eq!((entry.attempt, entry.ending), (2, Ending::Ok));
    jobs.resume("a").await.unwrap();
    sleep(S * 60).await;
    assert_eq!(world.log.count(), 8, "those that were added, and each once more");
    replica.stop().await;
}

/// A host of an earlier version writes the note of the request as it knows it, and so it is a run that was added.
#[tokio::test(start_paused = true)]
async fn an_earlier_version_runs_the_slot_as_well() {
    let world = World::new();
    let (replica, jobs) = busy(&world).await;
    let request = jobs.trigger_slot("a", day(5)).await.unwrap();
    let mut rewritten = 0;
    for shard in 0..64 {
        let key = format!("one-shots-{shard:02x}");
        let Some(note) = replica.client.note_at("g", &key).await.unwrap() else { continue };
        let mut runs: Vec<serde_json::Map<_, _>> = serde_json::from_slice(&note.bytes).unwrap();
        runs.iter_mut().for_each(|run| assert!(run.remove("q").is_some(), "{run:?}"));
        let bytes = serde_json::to_vec(&runs).unwrap();
        replica.client.swap_note("g", &key, note.revision, bytes).await.unwrap().expect("nobody else writes");
        rewritten += runs.len();
    }
    assert_eq!(rewritten, 1);
    let entry = jobs.ended(&request).await.unwrap().expect("it has run");
    assert_eq!((entry.slot, entry.asked), (day(5), true));
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_cancelled_has_no_run() {
    let world = World::new();
    let (replica, jobs) = busy(&world).await;
    let request = jobs.trigger_slot("a", day(5)).await.unwrap();
    assert!(jobs.cancel("a@2020-01-05T00:00:00Z").await.unwrap());
    assert_eq!(jobs.ended(&request).await.unwrap(), None);
    sleep(S * 60).await;
    assert_eq!(world.log.count(), 1);
    replica.stop().await;
}

/// It has waited for the run before it, and for nothing else.
#[tokio::test(start_paused = true)]
async fn it_is_late_from_the_request_on() {
    let world = World::new();
    let (replica, jobs) = busy(&world).await;
    jobs.trigger_slot("a", day(5)).await.unwrap();
    sleep(S * 15).await;
    let waited =
        |e: &EventKind| matches!(e, EventKind::Started { late, .. } if (S * 8..S * 10).contains(late));
    demand(
        world.log.events(waited) == 1,
        Kind::Untrue,
        format!("not nine seconds late: {:?}", world.log.told()),
    );
    replica.stop().await;
}

/// The slot has long passed, but nobody has been asked to run it since.
#[tokio::test(start_paused = true)]
async fn it_is_overdue_from_the_request_on() {
    let world = World::new();
    let operator = world.client().await;
    begin(&world, MS).await.stop().await;
    sleep(S * 60).await;
    let jobs = Jobs::new(&operator, "g");
    let requested = jobs.now().await.unwrap();
    jobs.trigger_slot("a", day(5)).await.unwrap();
    let overdue = async || jobs.list().await.unwrap().remove(0).overdue_since;
    let since = overdue().await;
    demand(since.is_none(), Kind::Untrue, format!("overdue since {since:?}, requested at {requested}"));
    sleep(S * 60).await;
    assert_eq!(overdue().await, Some(requested));
}

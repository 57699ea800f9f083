//! Clocks that are wrong, and the calendar.

use super::world::{MS, S, World, sleep};
use cotter_scheduler::{EventKind, Jobs, Misfire, Scheduler, Trigger, Zone};
use cotter_testkit::skewed::{Skew, Skewed, Timeless};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

fn stands_by(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Standby { .. })
}

#[tokio::test(start_paused = true)]
async fn a_host_whose_clock_is_off_starts_nothing_until_it_is_well_again() {
    let (world, skew) = (World::new(), Skew::default());
    let client = world.client_of(|store| Skewed::new(store, &skew)).await;
    skew.set_millis(-365 * 86_400_000);
    let job = world.log.job("a", Trigger::fixed_rate(S).unwrap(), MS);
    let replica = world.start_on(client, |s| s.max_clock_offset(S * 5).job(job), S);
    sleep(S * 60).await;
    assert_eq!((world.log.count(), world.log.events(stands_by)), (0, 1), "{:?}", world.log.told());
    assert!(Jobs::new(&replica.client, "g").history("a").await.is_err(), "nothing was written either");
    skew.set_millis(0);
    sleep(S * 10).await;
    assert!((5..=10).contains(&world.log.count()), "{:?}", world.log.told());
    assert_eq!(world.log.events(|e| *e == EventKind::Active), 1);
    let before = world.log.count();
    skew.set_millis(60_000);
    sleep(S * 20).await;
    let stopped = (world.log.count(), world.log.events(stands_by));
    assert_eq!(stopped, (before, 2), "noticed by the next decision");
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_whose_clock_goes_back_gives_one_slot_up_and_no_more() {
    let (world, skew) = (World::new(), Skew::default());
    let client = world.client_of(|store| Skewed::new(store, &skew)).await;
    skew.set_millis(3_600_000);
    let job = world.log.job("a", Trigger::cron("* * * * * ?").unwrap(), MS);
    let replica = world.start_on(client, |s| s.max_clock_offset(S * 86_400).job(job), S);
    sleep(S * 10).await;
    let before = world.log.count();
    assert!((9..=11).contains(&before), "{before}");
    skew.set_millis(0);
    sleep(S * 10).await;
    assert!((18..=21).contains(&world.log.count()), "{} {:?}", world.log.count(), world.log.told());
    assert_eq!(world.log.events(|e| *e == EventKind::Alarm), 1);
    replica.stop().await;
}

/// Milliseconds from now until an instant.
fn until(instant: &str) -> i64 {
    let instant: cotter_scheduler::UnixTime = instant.parse().unwrap();
    let instant: SystemTime = instant.try_into().unwrap();
    let now = SystemTime::now();
    match instant.duration_since(now) {
        Ok(ahead) => ahead.as_millis() as i64,
        Err(e) => -(e.duration().as_millis() as i64),
    }
}

#[tokio::test(start_paused = true)]
async fn cron_slots_follow_the_zone_through_a_change_of_its_clock() {
    let (world, skew) = (World::new(), Skew::default());
    let client = world.client_of(|store| Skewed::new(store, &skew)).await;
    skew.set_millis(until("2024-03-10T00:00:00-05:00"));
    let zone = Zone::named("America/New_York").unwrap();
    let job = |name, cron: &str| world.log.job(name, Trigger::cron(cron).unwrap().zone(zone.clone()), S);
    let jobs = [job("fixed", "0 30 2 * * ?"), job("hourly", "0 0 * * * ?")];
    let set = |s: cotter_scheduler::Scheduler| s.max_clock_offset(S * 1_000_000_000).jobs(jobs);
    let replica = world.start_on(client, set, S);
    sleep(S * 4 * 3600 + S).await;
    replica.stop().await;
    let slots = |name| {
        let starts = world.log.starts().into_iter().filter(move |s| s.job == name);
        starts.map(|s| s.slot.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(
        slots("fixed"),
        ["2024-03-10T07:00:00Z"],
        "02:30 does not exist: at 03:00, when the clock jumps"
    );
    let hours = ["06", "07", "08", "09"].map(|h| format!("2024-03-10T{h}:00:00Z"));
    let found = slots("hourly");
    assert_eq!(found[found.len() - 4..], hours, "real time");
}

/// Two replicas on a store without a clock, of which the first is ahead by this; and when it has been stopped, the other one
/// alone. Returns how many alarms there were.
async fn slots_by_two_clocks(world: &World, ahead: Duration) -> usize {
    let first = world.client_of(Timeless::new).await;
    // The time of day of a client begins with that of the system, which does not jump with the runtime.
    sleep(ahead).await;
    let second = world.client_of(Timeless::new).await;
    let job = |name, trigger| world.log.job(name, trigger, MS * 10).misfire(Misfire::All);
    let set = |scheduler: Scheduler| {
        let (cron, rate) = (Trigger::cron("* * * * * ?").unwrap(), Trigger::fixed_rate(S).unwrap());
        scheduler.max_clock_offset(S * 5).job(job("cron", cron)).job(job("rate", rate))
    };
    let (first, second) = (world.start_on(first, set, S), world.start_on(second, set, S));
    sleep(S * 20).await;
    first.stop().await;
    sleep(S * 20).await;
    second.stop().await;
    world.log.events(|kind| *kind == EventKind::Alarm)
}

#[tokio::test(start_paused = true)]
async fn replicas_whose_clocks_differ_start_each_slot_once_on_a_store_without_a_clock() {
    let world = World::new();
    assert_eq!(slots_by_two_clocks(&world, S * 3).await, 0, "{:?}", world.log.told());
    let starts = world.log.starts();
    let slots: BTreeSet<_> = starts.iter().map(|start| (start.job, start.slot)).collect();
    assert_eq!(slots.len(), starts.len(), "violation[slot-twice]: {:?}", world.log.slots());
    // The second one begins where the first one has stopped, once its clock shows that time.
    let count = |job| slots.iter().filter(|(of, _)| *of == job).count();
    assert!((36..=41).contains(&count("cron")) && (36..=41).contains(&count("rate")), "{slots:?}");
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_too_far_off_is_told_on_a_store_without_a_clock() {
    let world = World::new();
    assert_ne!(slots_by_two_clocks(&world, S * 8).await, 0);
}

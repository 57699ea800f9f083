//! `sqlite:` between processes that are paused and killed.

use crate::setup::{Place, on_sqlite, show};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::holder::Habits;
use cotter_testkit::processes::Injections;
use cotter_testkit::{Usage, sized};
use std::time::Duration;

const TTL: Duration = Duration::from_millis(300);

/// Eight processes do everything at random, are killed in the middle of a statement and stopped for longer than a lease
/// lasts: nobody ever believes to hold what somebody else holds, and the database stays sound.
#[test]
fn kills_and_stops() {
    let (place, mut run) = on_sqlite();
    run.processes = 8;
    run.orders.names = vec!["one".into(), "two".into(), "read".into(), "limited".into()];
    run.orders.usages =
        vec![Usage::Mutex, Usage::Mutex, Usage::RwLock { writers: 0.2 }, Usage::Semaphore { of: 4, most: 3 }];
    run.orders.habits = Habits::Erratic;
    (run.orders.work_us, run.orders.ttl_ms) = (2000, TTL.as_millis() as u64);
    run.acquisitions = sized(10_000, 200_000);
    run.patience = Duration::from_secs(sized(450, 4800) as u64);
    run.injections = Injections {
        kill_every: Some(100_000..300_000),
        kill_holders: 0.5,
        stop_every: Some(200_000..600_000),
        stop_for_us: 1000..1_000_000,
    };
    // One that was killed holds its lease to the end, and the place of one that does not ask is kept for three seconds.
    run.limits.idle = Duration::from_secs(4);
    run.limits.place_slack = Duration::from_secs(5);
    run.limits.loss_margin = Duration::from_secs(1);
    run.contended = sized(3_000, 80_000);
    let report = run.go().expect("the run can be made");
    show("kills and stops", &report);
    // One that is stopped inside a statement keeps all others from writing.
    report.demand_clean_but_for(|error| error.contains("unavailable: "));
    is_sound(&place);
}

/// Eight processes count to ten thousand, and one after the other is killed in the middle of a statement, or between reading and
/// writing the counter: it is exact, although it compares no tokens.
#[test]
fn a_counter_is_exact_whoever_is_killed() {
    let (place, mut run) = on_sqlite();
    run.processes = 8;
    run.orders.names = (0..24).map(|i| format!("counter {i}")).collect();
    run.orders.habits = Habits::Erratic;
    (run.orders.work_us, run.orders.ttl_ms) = (1000, 2_000);
    (run.acquisitions, run.kills) = (sized(10_000, 200_000), sized(20, 400));
    run.patience = Duration::from_secs(sized(600, 4800) as u64);
    run.injections =
        Injections { kill_every: Some(400_000..800_000), kill_holders: 0.5, ..Injections::default() };
    run.limits.idle = Duration::from_secs(4);
    run.limits.place_slack = Duration::from_secs(5);
    run.limits.loss_margin = Duration::from_secs(1);
    let report = run.go().expect("the run can be made");
    show("a counter that compares no tokens", &report);
    let counters =
        run.orders.names.iter().map(|name| run.orders.resources_of(name).and_then(|[_, u]| u.state()));
    let (mut value, mut writes) = (0, 0);
    for counter in counters {
        let counter = counter.expect("it is a file");
        (value, writes) = (value + counter.value, writes + counter.writes);
    }
    demand(value == writes, Kind::LostWrite, format!("{writes} wrote, and the counters say {value}"));
    demand(value >= run.acquisitions as u64, Kind::Void, format!("they have counted to {value} only"));
    // Eight of them may keep one waiting for too long on a busy machine.
    report.demand_clean_but_for(|error| error.contains("unavailable: "));
    is_sound(&place);
}

fn is_sound(place: &Place) {
    let database = rusqlite::Connection::open(place.database()).expect("it is there");
    let sound: String =
        database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("an answer");
    assert_eq!(sound, "ok");
}

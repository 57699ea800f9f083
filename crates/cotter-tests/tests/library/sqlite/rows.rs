//! Rows that others left, deleted or wrote.

use super::place::Place;
use cotter::{ErrorKind, Filter, Lease, ManualClock};
use cotter_testkit::history::{Kind, demand};
use std::sync::Barrier;
use std::time::{Duration, UNIX_EPOCH};

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn nothing_is_held_after_a_restart_of_the_machine() {
    let place = Place::new();
    let guard = place.client().mutex("a").lease(Lease::fixed(HOUR)).lock().wait().unwrap();
    let changed = place.run("UPDATE cotter_locks SET state = json_set(state, '$.boot', 'another')");
    assert_eq!(changed, 1);
    let next = place.client().mutex("a").try_lock().wait().unwrap().expect("it is free");
    assert!(next.token() > guard.token());
}

/// Written in a container with a boot id of its own. A row counts unless it was written later than now, by a clock that never goes
/// back in one boot.
#[test]
fn where_the_boot_has_no_name_the_clock_tells_of_a_restart() {
    let place = Place::new();
    let guard = place.client().mutex("a").lease(Lease::fixed(HOUR)).lock().wait().unwrap();
    for change in ["json_remove(state, '$.boot')", "json_remove(state, '$.written')"] {
        assert_eq!(place.run(&format!("UPDATE cotter_locks SET state = {change}")), 1);
        let taken = place.client().mutex("a").try_lock().wait().unwrap();
        demand(taken.is_none(), Kind::Overlap, change);
    }
    let later = "json_set(json_remove(state, '$.boot'), '$.written', 9000000000000000000)";
    assert_eq!(place.run(&format!("UPDATE cotter_locks SET state = {later}")), 1);
    let next = place.client().mutex("a").try_lock().wait().unwrap().expect("it is free");
    assert!(next.token() > guard.token());
}

/// Nobody has to write only because time has passed.
#[test]
fn a_look_that_changes_nothing_writes_nothing() {
    let place = Place::new();
    let _held = place.client().mutex("a").lease(Lease::fixed(HOUR)).lock().wait().unwrap();
    let database = place.database();
    let changes = || database.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0)).unwrap();
    let before = changes();
    assert!(place.client().mutex("a").try_lock().wait().unwrap().is_none());
    assert_eq!(changes(), before);
}

/// The clock was set back, the row was deleted: its token is still the lower bound.
#[test]
fn tokens_rise_after_a_row_was_deleted_and_the_clock_set_back() {
    let (place, clock) = (Place::new(), ManualClock::new());
    let client = place.client_on(&clock);
    let day = UNIX_EPOCH + 20_000 * 24 * HOUR;
    clock.set_wall(day);
    let before = client.mutex("a").lock().wait().unwrap();
    let token = before.token();
    before.finish().wait().unwrap();
    assert_eq!(place.run("DELETE FROM cotter_locks"), 1);
    clock.set_wall(day - HOUR);
    let after = client.mutex("a").lock().wait().unwrap().token();
    demand(after > token, Kind::TokenOrder, format!("{after} was given after {token}"));
}

#[test]
fn unused_names_are_forgotten_after_an_hour() {
    let (place, clock) = (Place::new(), ManualClock::new());
    let client = place.client_on(&clock);
    clock.set_wall(UNIX_EPOCH + 20_000 * 24 * HOUR);
    let lock = |name: &str| client.mutex(name).lease(Lease::fixed(48 * HOUR)).lock().wait().unwrap();
    for i in 0..300 {
        lock(&format!("order {i}")).finish().wait().unwrap();
    }
    let _held = lock("held");
    clock.set_wall(UNIX_EPOCH + 20_001 * 24 * HOUR);
    for _ in 0..256 {
        lock("order 0").finish().wait().unwrap();
    }
    let rows = |what| place.database().query_row(what, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(rows("SELECT count(*) FROM cotter_locks"), 2, "`held` and `order 0`");
}

#[test]
fn a_row_of_somebody_else_is_an_error() {
    let place = Place::new();
    place.run("INSERT INTO cotter_locks VALUES ('a', 7, '{\"version\": 9}')");
    let error = place.client().mutex("a").try_lock().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ForeignKey, "{error}");
    assert!(error.to_string().contains("cotter_locks"), "{error}");
}

#[test]
fn a_name_is_never_part_of_a_statement() {
    let (place, name) = (Place::new(), "a'); DROP TABLE cotter_locks; --");
    let client = place.client();
    let guard = client.mutex(name).lock().wait().unwrap();
    guard.put_note_at("'; DROP TABLE cotter_notes; --", b"note").wait().unwrap();
    let records = client.admin().list(Filter::prefix("a'")).collect().wait().unwrap();
    assert_eq!(records[0].name.as_str(), name);
    guard.finish().wait().unwrap();
}

/// Each reads the row before anybody has replaced it.
#[test]
fn of_those_who_try_at_once_one_gets_it() {
    const TRIERS: usize = 4;
    let (place, start) = (Place::new(), Barrier::new(TRIERS));
    let try_often = || {
        let client = place.client();
        let mut got = Vec::new();
        for round in 0..400 {
            start.wait();
            let guard = client.mutex("a").try_lock().wait().unwrap();
            start.wait();
            got.extend(guard.as_ref().map(|_| round));
            drop(guard.map(|guard| guard.finish().wait()));
        }
        got
    };
    let mut rounds: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..TRIERS).map(|_| scope.spawn(try_often)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    rounds.sort_unstable();
    assert!(rounds.len() > 300, "hardly any round was won");
    let twice = rounds.windows(2).find(|pair| pair[0] == pair[1]);
    demand(twice.is_none(), Kind::Overlap, format!("two got it in round {twice:?}"));
}

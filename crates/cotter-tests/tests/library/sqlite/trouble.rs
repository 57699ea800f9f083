//! A locked database, a replaced one, clocks that are set.

use super::place::Place;
use cotter::{Client, ErrorKind, Lease, LossCause, ManualClock};
use cotter_testkit::timing::{FAR, Stopwatch};
use std::fs;
use std::time::{Duration, UNIX_EPOCH};

const MS: Duration = Duration::from_millis(1);

fn impatient(place: &Place) -> Client {
    let store = place.store().with_timeout(100 * MS);
    Client::builder().give_up(400 * MS).connect_to(store).wait().unwrap()
}

/// As by a process that is stopped inside a transaction.
#[test]
fn a_locked_database_is_an_error_and_never_busy() {
    let place = Place::new();
    let client = impatient(&place);
    let held = client.mutex("held").lease(Lease::renewed(600 * MS)).lock().wait().unwrap();
    let other = place.database();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = client.mutex("a").try_lock().wait().unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.is_retryable(), "{error}");
    assert!(error.to_string().contains("locked by another process"), "{error}");
    // What cannot be renewed is lost at its deadline.
    let began = Stopwatch::start();
    let lost = held.lost().wait_for(FAR).expect("a loss");
    assert_eq!(lost.cause, LossCause::Expired);
    began.at_most(1000 * MS, "what cannot be renewed is lost");
    other.execute_batch("COMMIT").unwrap();
    client.mutex("a").lock().wait().unwrap().finish().wait().unwrap();
}

/// Who connects now would use another database.
#[test]
fn a_replaced_database_loses_the_locks() {
    let place = Place::new();
    let client = place.client();
    let held = client.mutex("a").lease(Lease::renewed(900 * MS)).lock().wait().unwrap();
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{end}", place.path().display()));
    }
    let began = Stopwatch::start();
    assert_eq!(held.lost().wait_for(FAR).expect("a loss").cause, LossCause::Gone);
    began.at_most(800 * MS, "it is told before its lease has ended");
    place.migrate();
    let error = client.mutex("b").try_lock().wait().unwrap_err();
    assert!(error.to_string().contains("connect again") && !error.is_retryable(), "{error}");
    place.client().mutex("a").lock().wait().unwrap().finish().wait().unwrap();
}

#[test]
fn setting_the_time_of_day_changes_no_lease() {
    let (place, clock) = (Place::new(), ManualClock::new());
    let (one, other) = (place.client_on(&clock), place.client_on(&clock));
    let noon = UNIX_EPOCH + Duration::from_secs(20_000 * 86_400);
    clock.set_wall(noon);
    let guard = one.mutex("a").lease(Lease::fixed(Duration::from_secs(60))).lock().wait().unwrap();
    for wall in [noon + Duration::from_secs(3600), noon - Duration::from_secs(3600)] {
        clock.set_wall(wall);
        assert!(other.mutex("a").try_lock().wait().unwrap().is_none());
        assert!(guard.is_valid());
    }
    clock.advance(Duration::from_secs(60));
    assert!(!guard.is_valid());
    let next = other.mutex("a").try_lock().wait().unwrap().expect("the lease has ended");
    assert!(next.token() > guard.token(), "although the clock was set back");
}

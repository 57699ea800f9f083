//! How calls end.

use super::{Seen, assert_seen, observed, poll_once, token};
use cotter::{Client, ErrorKind, EventKind, ManualClock, Mode, memory};
use std::time::Duration;

/// A client with an observer, and another one of the same store.
fn two() -> (Client, Seen, Client) {
    let store = memory::Store::new();
    let (client, seen) = observed(store.clone());
    (client, seen, Client::builder().connect_to(store).wait().unwrap())
}

#[test]
fn a_lock_is_acquired_and_released_under_its_token() {
    let (client, seen, _) = two();
    let guard = client.mutex("a").lock().wait().unwrap();
    let with = guard.token();
    guard.finish().wait().unwrap();
    drop(client);
    let events = seen.all();
    assert_eq!(events.len(), 2, "{events:#?}");
    assert!(matches!(events[0].kind, EventKind::Acquired { passed_on: false, .. }), "{events:#?}");
    assert!(
        matches!(events[1].kind, EventKind::Released { to: cotter::ReleasedTo::Store, .. }),
        "{events:#?}"
    );
    for event in events {
        assert_eq!(event.name.as_deref(), Some("a"));
        assert_eq!((event.mode, token(&event)), (Some(Mode::Exclusive), Some(with)));
    }
}

#[test]
fn a_busy_lock_is_told_once_with_the_time_that_was_waited() {
    let clock = ManualClock::new();
    let (observer, seen) = Seen::new();
    let store = memory::Store::new();
    let client =
        Client::builder().clock(clock.clone()).observe(observer).connect_to(store.clone()).wait().unwrap();
    let other = Client::builder().clock(clock.clone()).connect_to(store).wait().unwrap();
    let _held = other.mutex("a").lock().wait().unwrap();
    assert!(client.mutex("a").try_lock().wait().unwrap().is_none());
    let wait = Duration::from_secs(5);
    let waiting = std::thread::spawn(move || client.mutex("a").try_lock_for(wait).wait());
    while !waiting.is_finished() {
        clock.advance(Duration::from_millis(100));
    }
    assert!(waiting.join().unwrap().unwrap().is_none());
    let events = seen.all();
    let waited: Vec<_> = events
        .iter()
        .map(|event| match event.kind {
            EventKind::Busy { waited } => waited,
            _ => panic!("violation[unseen]: {events:#?}"),
        })
        .collect();
    assert_eq!(waited.len(), 2, "violation[unseen]: {events:#?}");
    assert!(waited[0] < wait && waited[1] >= wait, "{waited:?}");
}

#[test]
fn a_call_that_is_dropped_has_given_up() {
    let (client, seen, other) = two();
    let held = other.mutex("a").lock().wait().unwrap();
    let mutex = client.mutex("a");
    let mut call = mutex.lock();
    poll_once(&mut call);
    drop(call);
    held.finish().wait().unwrap();
    drop((client, mutex));
    assert_seen(seen, &["gave_up"]);
}

/// What nobody has received was not acquired: it has no end either.
#[test]
fn a_lock_that_arrives_behind_a_dropped_call_was_given_up() {
    let (client, seen, _) = two();
    let mutex = client.mutex("a");
    let held = mutex.lock().wait().unwrap();
    let mut call = mutex.lock();
    poll_once(&mut call);
    held.finish().wait().unwrap();
    drop(call);
    drop((client, mutex));
    assert_seen(seen, &["acquired", "released", "gave_up"]);
}

#[test]
fn a_call_with_an_error_has_failed() {
    let (client, seen, other) = two();
    let _of_three = other.semaphore("a", 3).acquire().wait().unwrap();
    client.semaphore("a", 2).try_acquire().wait().unwrap_err();
    client.close(Duration::ZERO).wait().unwrap();
    client.mutex("b").lock().wait().unwrap_err();
    drop(client);
    let events = seen.all();
    let kinds: Vec<_> = events
        .iter()
        .map(|event| match event.kind {
            EventKind::Failed { kind, .. } => kind,
            _ => panic!("{events:#?}"),
        })
        .collect();
    assert_eq!(kinds, [ErrorKind::LimitMismatch, ErrorKind::Misuse]);
}

#[test]
fn readers_and_permits_tell_how_they_hold_it() {
    let (client, seen, _) = two();
    let reader = client.rwlock("a").read().wait().unwrap();
    let permit = client.semaphore("b", 3).take(2).acquire().wait().unwrap();
    drop((reader, permit, client));
    let modes: Vec<_> = seen.all().into_iter().map(|event| event.mode.unwrap()).collect();
    let permits = Mode::Permits { take: 2, of: 3 };
    assert_eq!(modes, [Mode::Shared, permits, Mode::Shared, permits]);
}

#[test]
fn each_lock_of_several_has_events_of_its_own() {
    let (client, seen, other) = two();
    let (a, b) = (client.mutex("a"), client.mutex("b"));
    let held = other.mutex("b").lock().wait().unwrap();
    assert!(cotter::multi([&a, &b]).try_lock().wait().unwrap().is_none());
    held.finish().wait().unwrap();
    cotter::multi([&a, &b]).lock().wait().unwrap().finish().wait().unwrap();
    drop((client, a, b));
    let wanted = ["acquired", "busy", "released", "acquired", "acquired", "released", "released"];
    assert_seen(seen, &wanted);
}

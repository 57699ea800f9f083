//! A store that answers more time than it was asked for: no guard believes it.

use cotter::{Client, Guard, Lease, ManualClock, memory};
use cotter_testkit::generous::Generous;
use std::time::Duration;

const S: Duration = Duration::from_secs(1);
const TTL: Duration = Duration::from_secs(30);
const HOUR: Duration = Duration::from_secs(3600);

/// A client of such a store, and one that sees what the store really has.
fn world() -> (ManualClock, Client, Client) {
    let (clock, store) = (ManualClock::new(), memory::Store::new());
    let builder = || Client::builder().clock(clock.clone());
    let honest = builder().connect_to(store.clone()).wait().unwrap();
    let client = builder().connect_to(Generous::new(store, HOUR)).wait().unwrap();
    (clock, client, honest)
}

fn at_most(guard: &Guard, asked: Duration, after: &str) {
    let left = guard.remaining().expect("a lease");
    assert!(
        left <= asked,
        "violation[overlap]: {left:?} are believed after {after}, {asked:?} were asked for"
    );
}

#[test]
fn a_grant_lasts_no_longer_than_was_asked_for() {
    let (clock, client, honest) = world();
    let guard = client.mutex("a").lock().wait().unwrap();
    at_most(&guard, TTL, "a grant");
    clock.advance(S * 12);
    at_most(&guard, TTL, "a renewal");
    clock.advance(S * 120);
    assert!(guard.is_valid(), "it is renewed as often as its ttl demands");
    assert!(honest.mutex("a").try_lock().wait().unwrap().is_none(), "violation[overlap]");
    guard.finish().wait().unwrap();
}

#[test]
fn an_extension_lasts_no_longer_than_was_asked_for() {
    let (_, client, _) = world();
    let guard = client.mutex("a").lease(Lease::fixed(S * 10)).lock().wait().unwrap();
    at_most(&guard, S * 10, "a grant");
    guard.extend(S * 60).wait().unwrap();
    at_most(&guard, S * 60, "an extension");
    assert!(guard.remaining().unwrap() > S * 50, "that much was asked for");
    guard.finish().wait().unwrap();
}

#[test]
fn a_resumed_lock_lasts_no_longer_than_was_asked_for() {
    let (_, client, _) = world();
    let ticket = client.mutex("a").lock().wait().unwrap().into_ticket(S * 60).wait().unwrap();
    let guard = client.resume(&ticket).wait().unwrap();
    at_most(&guard, TTL, "a resumption");
    guard.finish().wait().unwrap();
}

/// A reader that was a writer keeps what the writer had asked for, and no more.
#[test]
fn a_downgraded_lock_lasts_no_longer_than_was_asked_for() {
    let (_, client, _) = world();
    let writer = client.rwlock("a").lease(Lease::fixed(S * 10)).write().wait().unwrap();
    writer.extend(S * 60).wait().unwrap();
    let reader = Guard::from(writer.downgrade().wait().unwrap());
    at_most(&reader, S * 60, "a downgrade");
    assert!(reader.remaining().unwrap() > S * 50, "that much was asked for");
    reader.finish().wait().unwrap();
}

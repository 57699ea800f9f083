//! Names that stay locked after the release, in a store that cannot do that by itself.

use cotter::backend::Connect;
use cotter::{Client, Lease, ManualClock, Released, memory};
use cotter_testkit::sessions::{Control, Sessions};
use cotter_testkit::unkept::Unkept;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

const S: Duration = Duration::from_secs(1);

/// A store whose grants have leases, and one whose grants live with a session.
fn stores() -> [Arc<dyn Connect>; 2] {
    let (one, other) = (Unkept::new(memory::Store::new()), Unkept::new(memory::Store::new()));
    let sessions = Sessions::over(other, 600 * S, &Control::default());
    [Arc::new(one), Arc::new(sessions)]
}

/// Two processes.
fn clients(store: &Arc<dyn Connect>, clock: &ManualClock) -> [Client; 2] {
    [(); 2].map(|()| Client::builder().clock(clock.clone()).connect_to(store.clone()).wait().unwrap())
}

fn is_free(client: &Client) -> bool {
    client.mutex("a").try_lock().wait().unwrap().is_some()
}

/// Demands that the name is locked for a minute, and no longer.
fn is_kept_for_a_minute(clock: &ManualClock, other: &Client, what: &str) {
    for second in 1..60 {
        clock.advance(S);
        assert!(!is_free(other), "violation[overlap]: {what}: free after {second} s");
    }
    clock.advance(S);
    assert!(is_free(other), "{what}: not for longer");
}

/// The lease limits the work of its holder, which has ended.
#[test]
fn a_name_is_kept_for_longer_than_the_lease_of_its_holder() {
    for store in stores() {
        for lease in [Lease::renewed(S * 9), Lease::renewed(S * 9).max_hold(S * 2), Lease::fixed(S * 2)] {
            let clock = ManualClock::new();
            let [one, other] = clients(&store, &clock);
            let guard = one.mutex("a").lease(lease).lock().wait().unwrap();
            assert_eq!(guard.keep_for(S * 60).wait().unwrap(), Released::Yes);
            is_kept_for_a_minute(&clock, &other, &format!("{lease:?}"));
        }
    }
}

#[test]
fn a_name_is_kept_if_the_call_is_dropped_while_it_asks_the_store() {
    for store in stores() {
        let clock = ManualClock::new();
        let [one, other] = clients(&store, &clock);
        let guard = one.mutex("a").lock().wait().unwrap();
        {
            let mut keeping = pin!(guard.keep_for(S * 60));
            let _ = keeping.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        is_kept_for_a_minute(&clock, &other, "polled once");
    }
}

#[test]
fn a_client_that_is_closed_keeps_no_name_and_says_nothing_about_it() {
    for store in stores() {
        let [one, other] = [(); 2].map(|()| Client::builder().connect_to(store.clone()).wait().unwrap());
        let guard = one.mutex("a").lock().wait().unwrap();
        assert_eq!(guard.keep_for(Duration::MAX).wait().unwrap(), Released::Yes);
        assert!(!is_free(&other));
        // It is waited for, as any guard is, but not for longer than that.
        one.close(S / 10).wait().expect("every release was answered");
        assert!(is_free(&other));
    }
}

/// The time that an inner guard of the same owner has asked for counts, however the outer one ends.
#[test]
fn a_name_is_kept_for_an_inner_guard() {
    for is_dropped in [false, true] {
        // A store has the clock of its first client.
        let plain: Arc<dyn Connect> = Arc::new(memory::Store::new());
        for store in stores().into_iter().chain([plain]) {
            let clock = ManualClock::new();
            let [one, other] = clients(&store, &clock);
            let owner = cotter::Owner::new();
            let mutex = one.mutex("a").owner(&owner).lease(Lease::renewed(S * 9));
            let (outer, inner) = (mutex.lock().wait().unwrap(), mutex.lock().wait().unwrap());
            assert_eq!(inner.keep_for(S * 70).wait().unwrap(), Released::StillHeld(1));
            for _ in 0..10 {
                clock.advance(S);
                assert!(outer.is_valid(), "it is renewed");
            }
            match is_dropped {
                true => drop(outer),
                false => assert_eq!(outer.release().wait().unwrap(), Released::Yes),
            }
            is_kept_for_a_minute(&clock, &other, &format!("dropped: {is_dropped}"));
        }
    }
}

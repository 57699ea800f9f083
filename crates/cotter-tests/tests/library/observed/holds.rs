//! How locks end, and what is no end.

use super::{assert_seen, labels, observed, poll_once, token};
use cotter::{Client, EventKind, EvictOrder, Lease, LossCause, Owner, Released, ReleasedTo, memory};
use cotter_testkit::timing::FAR;
use cotter_testkit::unkept::Unkept;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(30);

#[test]
fn a_lock_that_passes_on_is_released_and_acquired_under_two_tokens() {
    let (client, seen) = observed(memory::Store::new());
    let mutex = client.mutex("a");
    let first = mutex.lock().wait().unwrap();
    let mut others: Vec<_> = (0..2).map(|_| mutex.lock()).collect();
    for call in &mut others {
        poll_once(call);
    }
    // The others share a grant of several turns.
    first.finish().wait().unwrap();
    for call in others {
        call.wait().unwrap().finish().wait().unwrap();
    }
    drop((client, mutex));
    let events = seen.all();
    let wanted = ["acquired", "released", "acquired", "released", "acquired", "released"];
    assert_eq!(labels(&events), wanted, "{events:#?}");
    let passed: Vec<_> = events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Acquired { passed_on, .. } => Some(passed_on),
            EventKind::Released { to, .. } => Some(to == ReleasedTo::Task),
            _ => None,
        })
        .collect();
    assert_eq!(passed.iter().filter(|passed| **passed).count(), 2, "one hand-over: {events:#?}");
    for turn in events.chunks(2) {
        assert_eq!(token(&turn[0]), token(&turn[1]), "{events:#?}");
    }
}

#[test]
fn what_an_owner_enters_again_was_acquired_before() {
    let (client, seen) = observed(memory::Store::new());
    let mutex = client.mutex("a").owner(&Owner::new());
    let (outer, inner) = (mutex.lock().wait().unwrap(), mutex.lock().wait().unwrap());
    assert_eq!(outer.release().wait().unwrap(), Released::StillHeld(1));
    inner.finish().wait().unwrap();
    drop((client, mutex));
    assert_seen(seen, &["acquired", "released"]);
}

#[test]
fn a_writer_that_becomes_a_reader_goes_on() {
    let (client, seen) = observed(memory::Store::new());
    let writer = client.rwlock("a").write().wait().unwrap();
    let reader = writer.downgrade().wait().unwrap();
    reader.finish().wait().unwrap();
    drop(client);
    assert_seen(seen, &["acquired", "released"]);
}

#[test]
fn a_ticket_ends_one_hold_and_begins_another() {
    let (client, seen) = observed(memory::Store::new());
    let guard = client.mutex("a").lock().wait().unwrap();
    let ticket = guard.into_ticket(FAR).wait().unwrap();
    client.resume(&ticket).wait().unwrap().finish().wait().unwrap();
    assert!(client.resume(&ticket).wait().is_err(), "it was used");
    drop(client);
    let events = seen.all();
    assert_eq!(labels(&events), ["acquired", "released", "acquired", "released", "failed"], "{events:#?}");
    let to = |at: usize| match events[at].kind {
        EventKind::Released { to, .. } => to,
        _ => unreachable!(),
    };
    assert_eq!((to(1), to(3)), (ReleasedTo::Ticket, ReleasedTo::Store));
}

#[test]
fn a_name_that_stays_locked_was_released() {
    for kept in [true, false] {
        let (client, seen) = match kept {
            true => observed(memory::Store::new()),
            false => observed(Unkept::new(memory::Store::new())),
        };
        let guard = client.mutex("a").lock().wait().unwrap();
        assert_eq!(guard.keep_for(SHORT).wait().unwrap(), Released::Yes);
        drop(client);
        assert_seen(seen, &["acquired", "released"]);
    }
}

#[test]
fn a_lease_that_ends_is_a_loss() {
    let (client, mut seen) = observed(memory::Store::new());
    let guard = client.mutex("a").lease(Lease::fixed(SHORT)).lock().wait().unwrap();
    let event = seen.until("lost");
    let EventKind::Lost { token, cause, held, silent_for } = event.kind else { unreachable!() };
    assert_eq!((token, cause, silent_for), (guard.token(), LossCause::Expired, None));
    assert!(held >= SHORT / 2, "{held:?}");
    assert_eq!(guard.release().wait().unwrap(), Released::AlreadyLost);
    drop(client);
    assert_seen(seen, &["acquired", "lost"]);
}

/// The holder learns of it when it gives the lock back.
#[test]
fn a_loss_that_the_release_finds_is_told_and_is_no_release() {
    let store = memory::Store::new();
    let (client, seen) = observed(store.clone());
    let guard = client.mutex("a").lock().wait().unwrap();
    let other = Client::builder().connect_to(store).wait().unwrap();
    drop(other.admin().evict_with("a", EvictOrder::new().at_once()).wait().unwrap());
    assert_eq!(guard.release().wait().unwrap(), Released::AlreadyLost);
    drop(client);
    assert_seen(seen, &["acquired", "lost"]);
}

#[test]
fn a_renewal_tells_what_is_left() {
    let (client, mut seen) = observed(memory::Store::new());
    let ttl = Duration::from_millis(300);
    let guard = client.mutex("a").lease(Lease::renewed(ttl)).lock().wait().unwrap();
    let event = seen.until("renewed");
    let EventKind::Renewed { token, left, .. } = event.kind else { unreachable!() };
    assert_eq!(token, guard.token());
    assert!(left.is_some_and(|left| left > Duration::ZERO && left <= ttl), "{left:?}");
}

#[test]
fn the_end_of_a_client_loses_its_locks() {
    let (client, mut seen) = observed(memory::Store::new());
    let _guard = client.mutex("a").lock().wait().unwrap();
    client.close(Duration::ZERO).wait().unwrap();
    let event = seen.until("lost");
    assert!(matches!(event.kind, EventKind::Lost { cause: LossCause::Closed, .. }), "{event:?}");
}

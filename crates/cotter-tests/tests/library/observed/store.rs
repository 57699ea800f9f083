//! A store that fails.

use super::{Seen, observed};
use cotter::{Client, ErrorKind, EventKind, Lease, LossCause, ReleasedTo, memory};
use cotter_testkit::faulty::{Faults, Faulty, Plan};
use std::time::Duration;

const DOWN: Plan = Plan {
    before: Duration::ZERO,
    after: Duration::ZERO,
    lost_replies: 0.0,
    late_requests: 0.0,
    refused: 0.0,
    renewals_fail: false,
    down: true,
    notes_denied: false,
    releases_denied: false,
    freeze: Duration::ZERO,
};

fn faulty() -> (Client, Seen, Faults) {
    let faults = Faults::seeded(0);
    let (client, seen) = observed(Faulty::new(memory::Store::new(), &faults));
    (client, seen, faults)
}

#[test]
fn a_renewal_that_fails_is_told_and_so_are_the_outage_and_its_end() {
    let (client, mut seen, faults) = faulty();
    let lease = Lease::renewed(Duration::from_secs(3));
    let guard = client.mutex("a").lease(lease).lock().wait().unwrap();
    faults.set(Plan { renewals_fail: true, ..Plan::default() });
    let event = seen.until("renewal_failed");
    let EventKind::RenewalFailed { token, kind, left } = event.kind else { unreachable!() };
    assert_eq!((token, kind), (guard.token(), ErrorKind::Unavailable));
    assert!(left.is_some_and(|left| left < lease.ttl()), "{left:?}");
    let event = seen.until("outage");
    let EventKind::Outage { doing, error } = event.kind else { unreachable!() };
    assert_eq!((doing, error.kind()), ("renewing", ErrorKind::Unavailable));
    assert_eq!(event.name.as_deref(), Some("a"));
    faults.set(Plan::default());
    let event = seen.until("recovered");
    assert!(matches!(event.kind, EventKind::Recovered { failures: 1.., .. }), "{event:?}");
    assert!(guard.is_valid());
}

#[test]
fn a_loss_in_an_outage_says_for_how_long_the_store_was_silent() {
    let (client, mut seen, faults) = faulty();
    let ttl = Duration::from_millis(600);
    let guard = client.mutex("a").lease(Lease::renewed(ttl)).lock().wait().unwrap();
    faults.set(DOWN);
    let event = seen.until("lost");
    let EventKind::Lost { cause, silent_for, .. } = event.kind else { unreachable!() };
    assert_eq!(cause, LossCause::Expired);
    assert!(silent_for.is_some_and(|silent| silent > ttl / 2), "{silent_for:?}");
    drop(guard);
}

/// It has no lock whose renewal would tell.
#[test]
fn a_process_that_only_waits_tells_of_an_outage_at_its_first_attempt() {
    let (client, mut seen, faults) = faulty();
    faults.set(DOWN);
    let mutex = client.mutex("a");
    let waiting = std::thread::spawn(move || mutex.lock().wait());
    let event = seen.until("outage");
    assert!(matches!(event.kind, EventKind::Outage { doing: "acquiring", .. }), "{event:?}");
    assert_eq!(seen.before.len(), 1, "the first that is told: {:?}", seen.before);
    faults.set(Plan::default());
    waiting.join().unwrap().unwrap().finish().wait().unwrap();
    // Nothing else asks the store by itself.
    while seen.before.iter().all(|event| event.kind.as_str() != "recovered") {
        client.mutex("b").lock().wait().unwrap().finish().wait().unwrap();
        seen.before.extend(seen.receiver.try_iter());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_release_without_an_answer_ends_the_hold_all_the_same() {
    let (client, mut seen, faults) = faulty();
    let lease = Lease::fixed(Duration::from_millis(400));
    let guard = client.mutex("a").lease(lease).lock().wait().unwrap();
    faults.set(DOWN);
    guard.release().wait().unwrap_err();
    let event = seen.until("released");
    assert!(matches!(event.kind, EventKind::Released { to: ReleasedTo::Silence, .. }), "{event:?}");
}

//! The toy store against the contract, and under a client.

use cotter::conformance::Fixture;
use cotter::{Client, ErrorKind, Lease, LossCause, ManualClock};
use cotter_toy_store::ToyStore;
use std::time::Duration;

cotter::conformance_tests!(toy, Fixture::sharing(ToyStore::default()));

const S: Duration = Duration::from_secs(1);

#[test]
fn leases_end_and_losses_are_reported() {
    let (clock, store) = (ManualClock::new(), ToyStore::default());
    let connect = || Client::builder().clock(clock.clone()).connect_to(store.clone()).wait().unwrap();
    let (one, other) = (connect(), connect());
    let guard = one.mutex("a").lease(Lease::fixed(S)).lock().wait().unwrap();
    assert!(other.mutex("a").try_lock().wait().unwrap().is_none());
    clock.advance(S);
    let next = other.mutex("a").try_lock().wait().unwrap().expect("the lease has ended");
    assert!(next.token() > guard.token());
    let error = guard.finish().wait().unwrap_err();
    assert_eq!(error.lost().expect("a loss").cause, LossCause::Expired);
    next.finish().wait().unwrap();
}

#[test]
fn what_the_store_cannot_do_is_refused() {
    let client = Client::builder().connect_to(ToyStore::default()).wait().unwrap();
    let refused = [
        client.rwlock("a").read().wait().map(drop),
        client.note("a").wait().map(drop),
        client.holder("a").wait().map(drop),
    ];
    for answer in refused {
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::Unsupported);
    }
}

#[tokio::test]
async fn tasks_take_turns() {
    let client = Client::builder().local_turns(false).connect_to(ToyStore::default()).await.unwrap();
    let mutex = client.mutex("a");
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let mutex = mutex.clone();
            tokio::spawn(async move { mutex.with(async |guard| guard.token()).await.unwrap() })
        })
        .collect();
    let mut seen = Vec::new();
    for task in tasks {
        seen.push(task.await.unwrap());
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 8);
}

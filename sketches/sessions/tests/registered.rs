//! Does what is registered stay registered?
use cotter::backend::ClaimId;
use cotter::backend::flight::Flights;
use cotter::{Error, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn unknown() -> Error {
    Error::new(ErrorKind::Unavailable, "the connection broke").with_outcome_unknown()
}

/// acquire has answered "outcome unknown"; the release that follows has to know.
#[tokio::test]
#[ignore = "Flights forgets it: the call registers with InFlight instead"]
async fn an_unknown_outcome_is_remembered_for_the_release() {
    let (calls, id) = (Flights::<()>::default(), ClaimId::random());
    calls.call(id, async { Err(unknown()) }).await.unwrap_err();
    assert!(calls.land(id).await.is_some(), "forgotten");
}

/// A release that was dropped after the landing, repeated.
#[tokio::test]
#[ignore = "Flights forgets it: the call registers with InFlight instead"]
async fn an_unknown_outcome_is_remembered_after_a_dropped_release() {
    let (calls, id) = (Flights::<()>::default(), ClaimId::random());
    let _ = tokio::time::timeout(
        Duration::from_millis(1),
        calls.call(id, async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Err(unknown())
        }),
    )
    .await;
    assert!(calls.land(id).await.is_some());
    assert!(calls.land(id).await.is_some(), "forgotten");
}

/// A dropped acquire, repeated: the first call must not be dropped half-way.
#[tokio::test]
async fn a_second_call_does_not_drop_the_first() {
    let (calls, id) = (Flights::<()>::default(), ClaimId::random());
    let landed = Arc::new(AtomicBool::new(false));
    let first = landed.clone();
    let _ = tokio::time::timeout(
        Duration::from_millis(1),
        calls.call(id, async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            first.store(true, Ordering::SeqCst);
            Ok(())
        }),
    )
    .await;
    calls.call(id, async { Ok(()) }).await.unwrap();
    assert!(calls.land(id).await.is_none());
    assert!(landed.load(Ordering::SeqCst), "it was dropped half-way");
}

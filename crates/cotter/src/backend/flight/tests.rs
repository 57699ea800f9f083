//! Calls whose callers are dropped, aborted or asleep.

use super::*;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(5);

/// Creates a call that answers with the value it is sent.
fn call() -> (oneshot::Sender<u32>, impl Future<Output = Result<u32>> + Send + 'static) {
    let (tell, told) = oneshot::channel();
    (tell, async move { told.await.map_err(|_| crashed()) })
}

#[tokio::test]
async fn a_call_outlives_its_caller() {
    let (flights, id) = (Arc::new(Flights::default()), ClaimId::random());
    let (tell, told) = call();
    let caller = tokio::spawn({
        let flights = flights.clone();
        async move { flights.call(id, told).await }
    });
    yield_now().await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    // A release that is given up and repeated.
    assert!(timeout(Duration::from_millis(10), flights.land(id)).await.is_err());
    tell.send(7).unwrap();
    assert_eq!(timeout(SOON, flights.land(id)).await.unwrap().unwrap().unwrap(), 7);
    assert!(flights.land(id).await.is_none(), "answered calls are forgotten");
}

#[tokio::test]
async fn all_waiters_get_the_answer() {
    let (tell, told) = call();
    let flight = Flight::new(told);
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let flight = flight.clone();
            tokio::spawn(async move { flight.land().await })
        })
        .collect();
    yield_now().await;
    tell.send(7).unwrap();
    for waiter in waiters {
        assert_eq!(timeout(SOON, waiter).await.unwrap().unwrap().unwrap(), 7);
    }
    assert_eq!(flight.land().await.unwrap(), 7);
}

#[tokio::test]
async fn a_waiter_that_is_not_polled_holds_up_nobody() {
    let (tell, told) = call();
    let flight = Flight::new(told);
    let mut asleep = std::pin::pin!(flight.land());
    assert!(poll_fn(|cx| Poll::Ready(asleep.as_mut().poll(cx))).await.is_pending());
    let other = tokio::spawn({
        let flight = flight.clone();
        async move { flight.land().await }
    });
    yield_now().await;
    // Polled last, and gone when the answer comes.
    drop(timeout(Duration::ZERO, flight.land()).await);
    tell.send(7).unwrap();
    assert_eq!(timeout(SOON, other).await.unwrap().unwrap().unwrap(), 7);
    assert_eq!(timeout(SOON, asleep).await.unwrap().unwrap(), 7);
}

#[tokio::test]
async fn a_call_that_panics_is_an_unknown_outcome_for_all_others() {
    let (tell, told) = oneshot::channel::<()>();
    let polls = Arc::new(AtomicUsize::new(0));
    let flight: Flight<u32> = Flight::new({
        let polls = polls.clone();
        async move {
            let _ = told.await;
            polls.fetch_add(1, Ordering::Relaxed);
            panic!("as it should")
        }
    });
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let flight = flight.clone();
            tokio::spawn(async move { flight.land().await })
        })
        .collect();
    yield_now().await;
    tell.send(()).unwrap();
    let mut panicked = 0;
    for waiter in waiters {
        match timeout(SOON, waiter).await.unwrap() {
            Ok(answer) => assert!(answer.unwrap_err().outcome_unknown()),
            Err(e) => panicked += usize::from(e.is_panic()),
        }
    }
    assert_eq!((panicked, polls.load(Ordering::Relaxed)), (1, 1));
    assert!(flight.land().await.unwrap_err().outcome_unknown());
}

#[tokio::test]
async fn a_call_that_answers_at_once_is_not_kept() {
    let (flights, id) = (Flights::default(), ClaimId::random());
    assert_eq!(flights.call(id, async { Ok(7) }).await.unwrap(), 7);
    assert!(lock(&flights.0).is_empty());
}

/// The first caller is dropped half-way: its call lands before the next one of the same claim is sent.
#[tokio::test]
async fn a_second_call_of_a_claim_lets_the_first_one_land() {
    let (flights, id) = (Flights::<u32>::default(), ClaimId::random());
    let landed = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (released, first) = (Arc::new(tokio::sync::Notify::new()), landed.clone());
    let gate = released.clone();
    let call = flights.call(id, async move {
        gate.notified().await;
        first.store(true, std::sync::atomic::Ordering::SeqCst);
        Ok(1)
    });
    assert!(timeout(Duration::from_millis(10), call).await.is_err(), "the caller goes");
    released.notify_one();
    assert_eq!(flights.call(id, async { Ok(2) }).await.unwrap(), 2);
    assert!(landed.load(std::sync::atomic::Ordering::SeqCst), "the first call was dropped half-way");
}

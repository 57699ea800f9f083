//! Stores that are away: a memory store that is made to fail, as programs use it to test themselves, and clients that connect later.

use cotter::memory::{Faults, Store};
use cotter::{Client, ErrorKind, Lease, LossCause, Name};
use std::time::Duration;
use tokio::time::{sleep, timeout};

const S: Duration = Duration::from_secs(1);

fn store() -> (Faults, Store) {
    let faults = Faults::new();
    (faults.clone(), Store::with_faults(&faults))
}

async fn client(store: &Store) -> Client {
    let builder = Client::builder().lease(Lease::renewed(9 * S)).give_up(20 * S).in_this_runtime();
    builder.connect_to(store.clone()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_refuses_everything_and_leases_run_out() {
    let (faults, store) = store();
    let client = client(&store).await;
    let guard = client.mutex("a").lock().await.unwrap();
    faults.set_down(true);
    let error = client.mutex("b").try_lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(!error.outcome_unknown(), "it was not carried out: {error}");
    assert_eq!(format!("{error:?}"), error.to_string(), "one good line, as `main` prints it");
    assert_eq!(client.holder("a").await.unwrap_err().kind(), ErrorKind::Unavailable);
    let again = Client::builder().in_this_runtime().connect_to(store.clone()).await;
    assert_eq!(again.unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(guard.is_valid());
    let lost = timeout(10 * S, guard.lost()).await.expect("it is told when the lease ends");
    assert_eq!(lost.cause, LossCause::Expired, "{lost}");
}

#[tokio::test(start_paused = true)]
async fn who_waits_and_who_connects_survive_an_outage() {
    let (faults, store) = store();
    let (one, other) = (client(&store).await, client(&store).await);
    let held = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(other.mutex("a").lock());
    sleep(S).await;
    faults.set_down(true);
    let third = Client::builder().in_this_runtime().retry_connect(60 * S).connect_to(store.clone());
    let third = tokio::spawn(third);
    sleep(3 * S).await;
    assert!(!waiting.is_finished() && !third.is_finished());
    faults.set_down(false);
    held.finish().await.unwrap();
    let guard = timeout(10 * S, waiting).await.expect("it is served").unwrap().unwrap();
    let third = timeout(10 * S, third).await.expect("it connects").unwrap().unwrap();
    assert!(third.mutex("b").try_lock().await.unwrap().is_some());
    guard.finish().await.unwrap();
}

#[test]
fn a_lazy_client_connects_when_the_store_is_there() {
    let lazy = Client::builder().connect_lazy("memory:").unwrap();
    let (one, other) = (lazy.get().wait().unwrap(), lazy.clone().get().wait().unwrap());
    let held = one.mutex("a").lock().wait().unwrap();
    assert!(other.mutex("a").try_lock().wait().unwrap().is_none(), "it is one client");
    held.finish().wait().unwrap();
    assert_eq!(Client::builder().connect_lazy("memroy:").unwrap_err().kind(), ErrorKind::Config);
}

#[test]
fn a_lazy_client_of_a_store_that_is_down_connects_when_it_is_back() {
    let (faults, store) = store();
    faults.set_down(true);
    let lazy = Client::builder().connect_lazy_to(store.clone());
    assert_eq!(lazy.get().wait().unwrap_err().kind(), ErrorKind::Unavailable);
    faults.set_down(false);
    let guard = lazy.get().wait().unwrap().mutex("a").lock().wait().unwrap();
    let other = Client::builder().connect_to(store).wait().unwrap();
    assert!(other.mutex("a").try_lock().wait().unwrap().is_none(), "it is that store");
    guard.finish().wait().unwrap();
}

/// Nothing listens there, and later something does.
#[test]
#[cfg(feature = "redis")]
#[ignore = "needs redis-server"]
fn a_lazy_client_outlives_failures() {
    let mut server = cotter_testkit::servers::Redis::start();
    let url = server.url("connect_timeout=500ms");
    server.kill();
    let lazy = Client::builder().connect_lazy(url).unwrap();
    for _ in 0..2 {
        assert_eq!(lazy.get().wait().unwrap_err().kind(), ErrorKind::Unavailable);
    }
    server.restart();
    lazy.get().wait().unwrap().mutex("a").lock().wait().unwrap().finish().wait().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_is_undone_later() {
    let (faults, store) = store();
    let (one, other) = (client(&store).await, client(&store).await);
    faults.drop_answers(true);
    let error = one.mutex("a").try_lock().await.unwrap_err();
    assert!(error.outcome_unknown(), "{error}");
    faults.drop_answers(false);
    let guard = other.mutex("a").try_lock_for(5 * S).await.unwrap();
    guard.expect("it does not take until the lease ends").finish().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_the_store_forgets_is_reported_at_the_next_renewal() {
    let store = Store::new();
    let (one, other) = (client(&store).await, client(&store).await);
    let guard = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(other.mutex("a").lock());
    sleep(S).await;
    store.forget(&Name::new("a").unwrap());
    store.forget(&Name::new("never used").unwrap());
    let next = timeout(S, waiting).await.expect("whoever waits is served").unwrap().unwrap();
    assert!(next.token() > guard.token());
    let lost = timeout(4 * S, guard.lost()).await.expect("a third of the lease");
    assert_eq!(lost.cause, LossCause::Gone, "{lost}");
}

/// Nothing was locked yet, and there is no clock.
#[test]
fn a_new_store_has_nothing_to_forget() {
    Store::new().forget(&Name::new("a").unwrap());
}

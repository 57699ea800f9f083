//! A waiter whose holder's lease ends earlier than it knew.

use cotter::{Client, Lease, memory};
use cotter_testkit::history::{Kind, demand};
use std::time::{Duration, Instant};

async fn client(store: &memory::Store) -> Client {
    let lease = Lease::fixed(Duration::from_secs(600));
    Client::builder().backend(store.clone()).lease(lease).connect().await.unwrap()
}

/// What is left behind for 50 ms comes free after 50 ms, also for those who were in line before.
#[tokio::test]
async fn a_waiter_notices_that_the_rest_of_a_lease_has_become_shorter() {
    let store = memory::Store::new();
    let (one, other) = (client(&store).await, client(&store).await);
    let guard = one.mutex("x").lock().await.unwrap();
    let waiting = tokio::spawn(async move { other.mutex("x").try_lock_for(Duration::from_secs(2)).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let start = Instant::now();
    guard.leave_for(Duration::from_millis(50)).await.unwrap();
    let got = waiting.await.unwrap().unwrap();
    let text = format!("it was free after 50 ms, and the waiter slept for {:?}", start.elapsed());
    demand(got.is_some() && start.elapsed() < Duration::from_millis(500), Kind::IdleWaiter, text);
}

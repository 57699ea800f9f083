//! Waiters: when the lease before them becomes shorter, and when those before them leave.

use cotter::{Client, Lease, Released, memory};
use cotter_testkit::Actor;
use cotter_testkit::history::{History, Kind, Recorder, demand};
use cotter_testkit::timing::{FAR, Stopwatch};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

async fn client(store: &memory::Store) -> Client {
    let lease = Lease::fixed(Duration::from_secs(600));
    Client::builder().lease(lease).connect_to(store.clone()).await.unwrap()
}

/// What is left behind for 50 ms comes free after 50 ms, also for those who were in line before.
#[tokio::test]
async fn a_waiter_notices_that_the_rest_of_a_lease_has_become_shorter() {
    let store = memory::Store::new();
    let (one, other) = (client(&store).await, client(&store).await);
    let guard = one.mutex("x").lock().await.unwrap();
    let waiting = tokio::spawn(async move { other.mutex("x").try_lock_for(FAR).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let start = Stopwatch::of(Kind::IdleWaiter);
    assert_eq!(guard.keep_for(Duration::from_millis(50)).await.unwrap(), Released::Yes);
    let got = waiting.await.unwrap().unwrap();
    let free_after = "it is free after 50 ms, and the waiter wakes";
    start.at_most(Duration::from_millis(500), free_after);
    drop(got.expect("it is free"));
}

/// A task that waits for ever stands behind one that waits for 100 ms: when that one leaves, the process keeps the
/// place that both of them wait for.
#[tokio::test]
async fn a_process_keeps_its_place_when_the_first_of_its_tasks_gives_up() {
    let (store, log) = (memory::Store::new(), Recorder::in_memory());
    let holder = client(&store).await.mutex("x").lock().await.unwrap();
    let early = Actor::new(client(&store).await, &log, 1);
    let late = Actor::new(client(&store).await, &log, 2);
    let gives_up = early.clone();
    let gives_up = tokio::spawn(async move {
        let wait = Duration::from_millis(100);
        gives_up.try_lock_for("x", wait).await.map(|held| held.is_none())
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    let waits = [early, late].map(|actor| async move {
        let held = actor.lock("x").await?;
        held.finish().await
    });
    let [first, second] = waits.map(tokio::spawn);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(gives_up.await.unwrap().unwrap(), "it was to give up");
    holder.finish().await.unwrap();
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
    let order: Vec<u32> = History::of(log.events()).holds.iter().map(|h| h.process).collect();
    let text = format!("process 1 came first and kept waiting, and the order was {order:?}");
    demand(order == [1, 2], Kind::LostPlace, text);
}

/// It was given the lock and has not been polled since: its end gives the lock back.
#[tokio::test]
async fn a_grant_that_its_waiter_never_saw_is_given_back() {
    let store = memory::Store::new();
    let (one, other) = (client(&store).await, client(&store).await);
    let held = one.mutex("x").lock().await.unwrap();
    let mut waits = one.mutex("x").lock();
    let polled = std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut waits).poll(cx).is_ready()));
    assert!(!polled.await, "it was to wait");
    drop(held);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(other.mutex("x").try_lock().await.unwrap().is_none(), "it was to be given to the one who waits");
    drop(waits);
    let free = other.mutex("x").try_lock_for(FAR).await.unwrap();
    demand(free.is_some(), Kind::LeftBehind, "it is not free after its waiter was dropped");
}

//! Waiting: in order, woken at once, and not behind the dead.

use super::setup::{backend, claim, client, eventually, queued, take};
use cotter::backend::{Leave, Until};
use cotter_testkit::servers::Postgres;
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(30);

/// A release and a waiter that joins at the same time miss each other in neither order: no hand-over waits for a poll.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn no_hand_over_waits_for_a_poll() {
    const EACH: u32 = 150;
    let server = Postgres::migrated();
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let mutex = client(&server.url(""), TTL).await.mutex("hand-over");
        tasks.push(tokio::spawn(async move {
            let mut worst = Duration::ZERO;
            for _ in 0..EACH {
                let start = Instant::now();
                let guard = mutex.lock().await.unwrap();
                worst = worst.max(start.elapsed());
                guard.finish().await.unwrap();
            }
            worst
        }));
    }
    let mut worst = Duration::ZERO;
    for task in tasks {
        worst = worst.max(task.await.unwrap());
    }
    // The first waiters would ask again after 2 s, the others later.
    assert!(worst < Duration::from_millis(1500), "somebody waited for {worst:?}");
}

/// A waiter that was killed stands in the queue until it has been silent for too long, and then nobody waits for it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn dead_waiters_are_skipped() {
    let server = Postgres::migrated();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let held = claim("dead", TTL);
    take(&one, &held).await;
    // As processes leave them that are killed.
    server.sql(
        "insert into cotter_claim (id, name, state, mode, take, ticket, ends, number, since, label, channel) \
         select gen_random_uuid(), 'dead', 'w', 'x', 0, i, clock_timestamp() + interval '3 s', 0, now(), 'dead', 'dead' \
         from generate_series(1, 50) i; \
         update cotter_lock set crowd = true where name = 'dead'",
    );
    let living = claim("dead", TTL);
    let waiting = {
        let (other, living) = (other.clone(), living.clone());
        tokio::spawn(async move { other.acquire(&living, Until::Forever).await.unwrap().granted().unwrap() })
    };
    eventually("it waits", || queued(&server, "dead") == 51).await;
    one.release(&held, Leave::used(1)).await.unwrap();
    let start = Instant::now();
    tokio::time::timeout(Duration::from_secs(8), waiting).await.expect("the dead hold nobody up").unwrap();
    assert!(start.elapsed() > Duration::from_millis(500), "those who may be alive are waited for");
    assert_eq!(queued(&server, "dead"), 0);
}

/// A wait that is dropped leaves the queue at once.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_dropped_wait_leaves_the_queue() {
    let server = Postgres::migrated();
    let (one, other) = (client(&server.url(""), TTL).await, client(&server.url(""), TTL).await);
    let guard = one.mutex("dropped").lock().await.unwrap();
    for millis in [0, 1, 3, 10, 30, 100, 300] {
        let _ = tokio::time::timeout(Duration::from_millis(millis), other.mutex("dropped").lock()).await;
        eventually("nobody waits", || queued(&server, "dropped") == 0).await;
    }
    guard.finish().await.unwrap();
    other.mutex("dropped").try_lock().await.unwrap().expect("it is free").finish().await.unwrap();
}

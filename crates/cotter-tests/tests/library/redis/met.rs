//! Names that nobody else wants, and names where others are met: a script each, and the same answers.

use super::setup::{USED, backend, claim, take};
use cotter::backend::{Acquired, Backend, Release, Until};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// Whether somebody who does not wait gets the lock.
async fn gets_it(backend: &Arc<dyn Backend>, ttl: Duration) -> bool {
    matches!(backend.acquire(&claim("a", ttl), Until::Now).await.unwrap(), Acquired::Granted(_))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn whoever_only_asks_gets_what_the_dead_had() {
    const TTL: Duration = Duration::from_millis(200);
    let server = Redis::start();
    let (dead, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    take(&dead, &claim("a", TTL)).await;
    // It has met somebody there, and the new one has not.
    let was_busy = !gets_it(&other, TTL).await;
    tokio::time::sleep(TTL * 2).await;
    let new = backend(&server.url("")).await;
    let text = "a lock whose lease has ended is busy";
    demand(gets_it(&new, TTL).await, Kind::StuckWaiter, text);
    tokio::time::sleep(TTL * 2).await;
    demand(gets_it(&other, TTL).await, Kind::StuckWaiter, text);
    assert!(was_busy);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn an_answer_costs_one_script_whoever_holds_the_lock() {
    let server = Redis::start();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let before = server.scripts();
    let held = claim("a", LONG);
    take(&one, &held).await;
    for _ in 0..10 {
        assert!(!gets_it(&other, LONG).await);
    }
    assert_eq!(one.release(&held, USED).await.unwrap(), Release::Freed);
    // Others were met there; after this one, nobody is.
    for _ in 0..2 {
        let claim = claim("a", LONG);
        take(&other, &claim).await;
        assert_eq!(other.release(&claim, USED).await.unwrap(), Release::Freed);
    }
    assert_eq!(server.scripts() - before, 1 + 10 + 1 + 2 * 2);
}

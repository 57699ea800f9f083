//! The rules of shared names that a run may break unnoticed, each provoked.

use super::setup::{USED, backend, claim, eventually, queued, take};
use cotter::backend::{Acquired, Backend, Claim, Extension, Grant, Mode, Until};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

const LONG: Duration = Duration::from_secs(60);

fn claim_as(mode: Mode, ttl: Duration) -> Claim {
    let mut claim = claim("a", ttl);
    claim.mode = mode;
    claim
}

fn wait(backend: &Arc<dyn Backend>, claim: &Claim) -> JoinHandle<cotter::Result<Acquired>> {
    let (backend, claim) = (backend.clone(), claim.clone());
    tokio::spawn(async move { backend.acquire(&claim, Until::Forever).await })
}

async fn is_busy(backend: &Arc<dyn Backend>, claim: &Claim) -> bool {
    backend.acquire(claim, Until::Now).await.unwrap().granted().is_none()
}

async fn is_held(backend: &Arc<dyn Backend>, grant: &Grant) -> bool {
    matches!(backend.extend(&[grant], LONG).await.remove(0).unwrap(), Extension::Extended { .. })
}

/// Every newcomer, for however long they come.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn no_reader_passes_a_writer_that_waits() {
    let server = Redis::start();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let held = take(&one, &claim_as(Mode::Shared, LONG)).await;
    let writer = wait(&other, &claim("a", LONG));
    eventually("it waits", || queued(&server, "a") == 1).await;
    for i in 0..20 {
        let busy = is_busy(&one, &claim_as(Mode::Shared, LONG)).await;
        demand(busy, Kind::LostPlace, format!("newcomer {i} reads, though a writer waits"));
    }
    one.release(&held.claim, USED).await.unwrap();
    writer.await.unwrap().unwrap().granted().expect("it waits for ever");
}

/// Also with many whose leases end at different times, and whoever looks.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_lease_that_ends_frees_nobody_but_its_holder() {
    let server = Redis::start();
    let one = backend(&server.url("")).await;
    let stays = take(&one, &claim_as(Mode::Shared, LONG)).await;
    for i in 1..=5 {
        take(&one, &claim_as(Mode::Shared, Duration::from_millis(20 * i))).await;
    }
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let busy = is_busy(&one, &claim("a", LONG)).await;
        demand(
            busy,
            Kind::SharedWithExclusive,
            "a writer entered when the lease of one of the readers ended",
        );
    }
    assert!(is_held(&one, &stays).await);
}

/// A request whose answer was lost is sent again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_repeated_request_takes_no_more_permits() {
    let server = Redis::start();
    let one = backend(&server.url("")).await;
    let permits = |take| claim_as(Mode::Permits { take, of: 100 }, LONG);
    let held = permits(1);
    // Whether a request takes the way of most of them depends on the time.
    let mut grants = Vec::new();
    for _ in 0..20 {
        grants.push(take(&one, &held).await.number);
    }
    let fits = !is_busy(&one, &permits(99)).await;
    demand(fits, Kind::LeftBehind, "a repeated request has taken its permit again");
    let over = is_busy(&one, &permits(1)).await;
    demand(over, Kind::PermitsOverLimit, "all are taken");
    grants.dedup();
    assert_eq!(grants.len(), 1);
}

/// The next in line may be a writer.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_downgrade_admits_readers_and_no_writer() {
    let server = Redis::start();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    for first in [Mode::Exclusive, Mode::Shared] {
        let held = take(&one, &claim("a", LONG)).await;
        let waiting = claim_as(first, LONG);
        let task = wait(&other, &waiting);
        eventually("it waits", || queued(&server, "a") == 1).await;
        let writer = wait(&other, &claim("a", LONG));
        eventually("the other one, too", || queued(&server, "a") == 2).await;
        let reader = one.downgrade(&held).await.unwrap();
        let left = if first == Mode::Shared { 1 } else { 2 };
        let text = format!("{} wait behind a reader that was a writer", queued(&server, "a"));
        demand(queued(&server, "a") == left, Kind::SharedWithExclusive, text);
        assert!(is_held(&one, &reader).await);
        one.release(&reader.claim, USED).await.unwrap();
        for task in [task, writer] {
            let grant = task.await.unwrap().unwrap().granted().expect("it waits for ever");
            other.release(&grant.claim, USED).await.unwrap();
        }
    }
}

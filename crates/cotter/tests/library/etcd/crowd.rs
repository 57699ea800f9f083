//! Many who wait, and many who hold.

use super::{keys, leases};
use cotter::backend::{Leave, Until};
use cotter_testkit::bare::{backend, claim, eventually, take};
use cotter_testkit::servers::Etcd;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(60);
const WAITING: usize = 500;
/// Held by one process.
const HELD: usize = 10_000;

/// One release wakes one of them: the requests that follow it do not grow with their number.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_release_wakes_one_of_many() {
    let server = Etcd::start(1);
    let url = server.url("timeout=20s");
    let (one, other) = (backend(&url).await, backend(&url).await);
    let held = claim("crowd", TTL);
    take(&one, &held).await;
    let mut waiting = Vec::new();
    for _ in 0..WAITING {
        let (other, next) = (other.clone(), claim("crowd", TTL));
        waiting.push(tokio::spawn(async move {
            other.acquire(&next, Until::Forever).await.unwrap().granted().expect("its turn")
        }));
    }
    eventually("all are in the queue", || keys(&server, "cotter/lock/crowd/").len() == WAITING + 1).await;
    // Each looks once more when the server has confirmed its watch.
    let mut before = server.received(None);
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = server.received(None);
        if now == before {
            break;
        }
        before = now;
    }
    let before = server.received(None);
    one.release(&held, Leave::used(1)).await.unwrap();
    eventually("one of them holds", || waiting.iter().any(tokio::task::JoinHandle::is_finished)).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let asked = server.received(None) - before;
    // The release; one look, the end of one watch and the begin of another.
    assert!(asked < 12, "{asked} messages");
    assert_eq!(waiting.iter().filter(|wait| wait.is_finished()).count(), 1);
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
}

/// A lease is kept alive once for all entries that are attached to it; fifty of them are looked at in one request.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn ten_thousand_names_are_kept_alive_as_one() {
    let server = Etcd::start(1);
    let ours = backend(&server.url("timeout=20s")).await;
    let claims: Vec<_> = (0..HELD).map(|n| claim(&format!("many {n}"), TTL)).collect();
    let mut grants = Vec::new();
    for some in claims.chunks(HELD / 20) {
        let taking = some.iter().map(|claim| {
            let (ours, claim) = (ours.clone(), claim.clone());
            tokio::spawn(async move { take(&ours, &claim).await })
        });
        for taken in taking.collect::<Vec<_>>() {
            grants.push(taken.await.unwrap());
        }
    }
    assert_eq!(leases(&server).len(), 1);
    let keepalives = || server.received(Some("LeaseKeepAlive"));
    let (before, kept) = (server.received(None), keepalives());
    // As the engine renews them.
    let extended = ours.extend(&grants.iter().collect::<Vec<_>>(), TTL).await;
    assert!(extended.iter().all(Result::is_ok));
    assert!(keepalives() - kept <= 1);
    let asked = server.received(None) - before;
    assert!(asked <= HELD / 50 + 5, "{asked} messages");
    ours.close().await;
    eventually("its end has freed them all", || keys(&server, "cotter/lock/").is_empty()).await;
}

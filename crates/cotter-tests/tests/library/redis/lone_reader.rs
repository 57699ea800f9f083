//! A reader that is alone has the layout of a mutex, until others join it.

use super::setup::{USED, backend, claim, eventually, queued, take};
use cotter::backend::{
    Acquired, Backend, Claim, EvictOrder, Extension, Filter, Grant, Leave, Mode, NoteAt, Release, Until,
};
use cotter::{LossCause, Result};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::Stopwatch;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

const LONG: Duration = Duration::from_secs(60);

fn reader(ttl: Duration) -> Claim {
    let mut claim = claim("a", ttl);
    claim.mode = Mode::Shared;
    claim
}

fn wait(backend: &Arc<dyn Backend>, claim: &Claim) -> JoinHandle<Result<Acquired>> {
    let (backend, claim) = (backend.clone(), claim.clone());
    tokio::spawn(async move { backend.acquire(&claim, Until::Forever).await })
}

async fn granted(waiting: JoinHandle<Result<Acquired>>) -> Grant {
    waiting.await.unwrap().unwrap().granted().expect("it waits for ever")
}

async fn extended(backend: &Arc<dyn Backend>, grant: &Grant) -> Extension {
    backend.extend(&[grant], LONG).await.remove(0).unwrap()
}

async fn is_busy(backend: &Arc<dyn Backend>, claim: &Claim) -> bool {
    backend.acquire(claim, Until::Now).await.unwrap().granted().is_none()
}

/// The modes and tokens of those who hold the name.
async fn holders(backend: &Arc<dyn Backend>) -> Vec<(Mode, u64)> {
    let page = backend.admin().unwrap().list(&Filter::prefix(""), None).await.unwrap();
    page.records.iter().flat_map(|r| &r.holders).map(|h| (h.mode, h.token.get())).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_lone_reader_has_one_key_and_others_can_join_it() {
    let server = Redis::start();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let first = take(&one, &reader(LONG)).await;
    assert_eq!(server.command(&["KEYS", "*"]), "cotter:{a}");
    assert_eq!(holders(&other).await, [(Mode::Shared, first.number)]);
    assert!(is_busy(&other, &claim("a", LONG)).await);
    assert_eq!(take(&one, &first.claim).await.number, first.number, "the answer to a repeated request");
    let second = take(&other, &reader(LONG)).await;
    assert_eq!(holders(&one).await, [(Mode::Shared, first.number), (Mode::Shared, second.number)]);
    assert!(second.number > first.number);
    for (backend, grant) in [(&one, &first), (&other, &second)] {
        assert!(matches!(extended(backend, grant).await, Extension::Extended { .. }));
        demand(is_busy(&one, &claim("a", LONG)).await, Kind::SharedWithExclusive, "a writer is in");
        assert_eq!(backend.release(&grant.claim, USED).await.unwrap(), Release::Freed);
    }
    let writer = take(&one, &claim("a", LONG)).await;
    assert!(writer.number > second.number);
    one.release(&writer.claim, USED).await.unwrap();
    let third = take(&one, &reader(LONG)).await;
    assert_eq!(one.release(&third.claim, USED).await.unwrap(), Release::Freed);
    assert_eq!(one.release(&third.claim, USED).await.unwrap(), Release::NotHeld);
}

/// As it would be if the first reader were one of many.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_writer_that_gives_up_lets_in_who_waits_behind_it() {
    let server = Redis::start();
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let first = take(&one, &reader(LONG)).await;
    let gives_up = claim("a", LONG);
    let writer = wait(&other, &gives_up);
    eventually("it waits", || queued(&server, "a") == 1).await;
    let behind = wait(&one, &reader(LONG));
    eventually("so does a reader", || queued(&server, "a") == 2).await;
    let since = Stopwatch::of(Kind::IdleWaiter);
    assert_eq!(other.release(&gives_up, Leave::default()).await.unwrap(), Release::Freed);
    writer.abort();
    let second = granted(behind).await;
    // A waiter that is not told asks after some seconds.
    since.at_most(Duration::from_secs(1), "it is told");
    let next = wait(&other, &claim("a", LONG));
    eventually("a writer waits", || queued(&server, "a") == 1).await;
    one.release(&first.claim, USED).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    demand(!next.is_finished(), Kind::SharedWithExclusive, "a writer is in beside a reader");
    one.release(&second.claim, USED).await.unwrap();
    granted(next).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_lone_reader_that_was_evicted_stays_so_when_others_join() {
    let server = Redis::start();
    let one = backend(&server.url("")).await;
    let first = take(&one, &reader(LONG)).await;
    drop(one.admin().unwrap().evict(&first.claim.name, EvictOrder::new()).await.unwrap());
    let second = take(&one, &reader(LONG)).await;
    let is_lost = matches!(extended(&one, &first).await, Extension::Lost(LossCause::Evicted));
    demand(is_lost, Kind::UntoldLoss, "a reader that was evicted goes on");
    assert!(matches!(extended(&one, &second).await, Extension::Extended { .. }));
    let notes = one.notes().unwrap();
    assert_eq!(notes.store(&first, NoteAt::new("k", first.number, 1), b"x").await.unwrap(), None);
    assert!(notes.store(&second, NoteAt::new("k", second.number, 1), b"y").await.unwrap().is_some());
    one.release(&second.claim, USED).await.unwrap();
    one.release(&first.claim, USED).await.unwrap();
    let third = take(&one, &reader(LONG)).await;
    drop(one.admin().unwrap().evict(&third.claim.name, EvictOrder::new().at_once()).await.unwrap());
    take(&one, &claim("a", LONG)).await;
    assert!(matches!(extended(&one, &third).await, Extension::Lost(LossCause::Evicted)));
}

/// The rest of a lease that a reader leaves behind keeps writers out, and no reader.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_lease_that_a_lone_reader_leaves_is_a_readers() {
    let server = Redis::start();
    let one = backend(&server.url("")).await;
    let first = take(&one, &reader(LONG)).await;
    let leave = Leave::used(1).keeping(Some(Duration::from_millis(600)));
    assert_eq!(one.release(&first.claim, leave).await.unwrap(), Release::Freed);
    assert!(is_busy(&one, &claim("a", LONG)).await);
    let second = take(&one, &reader(LONG)).await;
    one.release(&second.claim, USED).await.unwrap();
    assert!(is_busy(&one, &claim("a", LONG)).await);
    tokio::time::sleep(Duration::from_millis(700)).await;
    take(&one, &claim("a", LONG)).await;
}

/// A lease that has ended keeps nobody out, and ends for good.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_lone_reader_whose_lease_has_ended_is_gone() {
    let server = Redis::builder().skewed().start();
    let one = backend(&server.url("")).await;
    for next in [Mode::Exclusive, Mode::Shared] {
        let dead = take(&one, &reader(Duration::from_millis(100))).await;
        tokio::time::sleep(Duration::from_millis(150)).await;
        let mut claim = claim("a", LONG);
        claim.mode = next;
        let grant = take(&one, &claim).await;
        assert!(matches!(extended(&one, &dead).await, Extension::Lost(_)));
        assert_eq!(holders(&one).await, [(next, grant.number)]);
        one.release(&grant.claim, USED).await.unwrap();
    }
    // The lease of the first counts from the step, and that of the second from its grant.
    let ttl = Duration::from_millis(500);
    take(&one, &reader(ttl)).await;
    server.step_clock(-3600);
    take(&one, &reader(ttl)).await;
    assert!(is_busy(&one, &claim("a", LONG)).await);
    tokio::time::sleep(ttl * 2).await;
    take(&one, &claim("a", LONG)).await;
}

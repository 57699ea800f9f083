//! Answers that are lost, and requests that arrive after the release of their claim.

use super::{places, shared};
use cotter::backend::{ClaimId, Leave, Release, Until};
use cotter_testkit::bare::{backend, claim, client, take};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Loss, Proxy};
use cotter_testkit::timing::FAR;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

/// What the name of a node says of its claim.
fn dashed(id: ClaimId) -> String {
    let hex = id.to_string();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// The node is there, and nobody knows: the release finds it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_node_whose_answer_was_lost_is_undone() {
    let server = shared();
    for (n, how) in [Loss::Cut, Loss::Silence, Loss::Cut].into_iter().enumerate() {
        let proxy = Proxy::start(server.port(0));
        let backend = backend(&format!("zookeeper://127.0.0.1:{}?session=4s", proxy.port())).await;
        let name = format!("answer lost {n}");
        let lost = claim(&name, TTL);
        proxy.lose_reply(dashed(lost.id).as_bytes(), how);
        let error = backend.acquire(&lost, Until::InLine).await.unwrap_err();
        assert!(error.outcome_unknown() && error.is_retryable() && proxy.has_lost(), "{error}");
        assert_eq!(places(&server, &name).len(), 1, "it was carried out");
        backend.release(&lost, Leave::default()).await.unwrap();
        demand(places(&server, &name).is_empty(), Kind::LeftBehind, "the release has left the node");
        assert_eq!(backend.release(&lost, Leave::default()).await.unwrap(), Release::NotHeld);
    }
}

/// The same claim asks again: it has one node, not two.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_claim_that_asks_again_after_a_lost_answer_has_one_node() {
    let server = shared();
    let proxy = Proxy::start(server.port(0));
    let backend = backend(&format!("zookeeper://127.0.0.1:{}?session=20s", proxy.port())).await;
    let asking = claim("asks again", TTL);
    proxy.lose_reply(dashed(asking.id).as_bytes(), Loss::Cut);
    assert!(backend.acquire(&asking, Until::InLine).await.unwrap_err().outcome_unknown());
    let grant = take(&backend, &asking).await;
    assert_eq!(places(&server, "asks again").len(), 1);
    assert_eq!(take(&backend, &asking).await.number, grant.number);
    assert_eq!(backend.release(&asking, Leave::used(1)).await.unwrap(), Release::Freed);
    assert!(places(&server, "asks again").is_empty());
}

/// Through a client nobody notices.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_lost_answer_costs_a_client_nothing_but_time() {
    let server = shared();
    let proxy = Proxy::start(server.port(0));
    let client = client(&format!("zookeeper://127.0.0.1:{}?session=20s", proxy.port()), TTL).await;
    for n in 0..3 {
        let name = format!("client {n}");
        proxy.lose_reply(format!("/cotter/lock/{name}/_c_").as_bytes(), Loss::Cut);
        let guard = client.mutex(&*name).lock().await.unwrap();
        assert!(proxy.has_lost());
        // The first attempt is undone in the background.
        let end = std::time::Instant::now() + FAR;
        loop {
            let left = places(&server, &name).len();
            if left == 1 {
                break;
            }
            let in_time = std::time::Instant::now() < end;
            demand(in_time, Kind::LeftBehind, format!("{left} nodes stay"));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        guard.finish().await.unwrap();
        assert!(places(&server, &name).is_empty());
    }
}

/// The request is kept back until its claim was released over another connection of the same session. The server has closed
/// the connection that it comes on.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_request_that_arrives_after_its_release_has_no_effect() {
    let server = shared();
    let proxy = Proxy::start(server.port(0));
    let backend = backend(&format!("zookeeper://127.0.0.1:{}?session=4s", proxy.port())).await;
    let other = claim("keeps the session", TTL);
    take(&backend, &other).await;
    for n in 0..3 {
        let name = format!("late {n}");
        let late = claim(&name, TTL);
        let kept = proxy.keep_request(dashed(late.id).as_bytes());
        let error = backend.acquire(&late, Until::InLine).await.unwrap_err();
        assert!(error.outcome_unknown() && kept.is_caught(), "{error}");
        backend.release(&late, Leave::default()).await.unwrap();
        kept.let_go();
        tokio::time::sleep(Duration::from_millis(100)).await;
        demand(places(&server, &name).is_empty(), Kind::LeftBehind, "it has taken the lock");
        take(&backend, &claim(&name, TTL)).await;
    }
    assert_eq!(places(&server, "keeps the session").len(), 1, "it is the same session");
}

/// The claim's ttl is over before its session has a connection again. The session lives on, and its node with it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_release_that_was_given_up_is_carried_out_when_the_servers_are_back() {
    let server = shared();
    let proxy = Proxy::start(server.port(0));
    let url = format!("zookeeper://127.0.0.1:{}?session=30s", proxy.port());
    let client = client(&url, Duration::from_secs(1)).await;
    proxy.lose_reply(b"/cotter/lock/given up/_c_", Loss::Cut);
    proxy.refuse(true);
    let error = client.mutex("given up").try_lock().await.unwrap_err();
    assert!(error.outcome_unknown() && proxy.has_lost(), "{error}");
    // The release that is under way is given up after two seconds.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(places(&server, "given up").len(), 1, "the session keeps it");
    proxy.refuse(false);
    let other = client.mutex("answers again").lock().await.unwrap();
    let end = std::time::Instant::now() + FAR;
    while !places(&server, "given up").is_empty() {
        let in_time = std::time::Instant::now() < end;
        demand(in_time, Kind::LeftBehind, "the session keeps the node of a released lock");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    other.finish().await.unwrap();
}

/// Dropped before the answer, in the same session as the attempt that follows: the clean-up knows them apart.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_late_clean_up_leaves_the_next_attempt_alone() {
    let server = shared();
    let backend = backend(&server.url("session=20s")).await;
    for n in 0..20 {
        let first = claim("clean-up", TTL);
        let mut asking = Box::pin(backend.acquire(&first, Until::Forever));
        for _ in 0..n % 5 {
            if tokio::time::timeout(Duration::from_micros(300), &mut asking).await.is_ok() {
                break;
            }
        }
        drop(asking);
        let next = claim("clean-up", TTL);
        let waiting = tokio::spawn({
            let (backend, next) = (backend.clone(), next.clone());
            async move { backend.acquire(&next, Until::Forever).await.unwrap().granted().expect("its turn") }
        });
        tokio::time::sleep(Duration::from_millis(5)).await;
        backend.release(&first, Leave::default()).await.unwrap();
        waiting.await.unwrap();
        backend.release(&first, Leave::default()).await.unwrap();
        assert_eq!(places(&server, "clean-up").len(), 1);
        assert_eq!(backend.release(&next, Leave::used(1)).await.unwrap(), Release::Freed);
    }
}

/// One attempt at a busy name leaves no node, not even for a moment after its answer.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs zookeeper"]
async fn a_try_at_a_busy_name_leaves_nothing() {
    let server = super::shared();
    let (one, other) = (client(&server.url(""), TTL).await, client(&server.url(""), TTL).await);
    let guard = one.mutex("busy").lock().await.unwrap();
    for _ in 0..20 {
        assert!(other.mutex("busy").try_lock().await.unwrap().is_none());
        assert_eq!(places(&server, "busy").len(), 1);
    }
    guard.finish().await.unwrap();
}

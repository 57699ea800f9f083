//! Puts that arrive after the release of their claim.

use super::keys;
use cotter::backend::{Leave, Until};
use cotter_testkit::bare::{backend, claim, client, take};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Etcd, Proxy};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

/// The put is kept back until its claim was released on another connection. It would live as long as the lease, which other
/// locks keep alive.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_put_that_arrives_after_its_release_has_no_effect() {
    let server = Etcd::start(1);
    let proxy = Proxy::start(server.port(0));
    let url = format!("etcd://127.0.0.1:{}?timeout=300ms", proxy.port());
    let backend = backend(&url).await;
    take(&backend, &claim("keeps-the-lease", TTL)).await;
    for n in 0..10 {
        let name = format!("late{n}");
        let late = claim(&name, TTL);
        let kept = proxy.keep_request(late.id.to_string().as_bytes());
        let error = backend.acquire(&late, Until::Now).await.unwrap_err();
        assert!(error.outcome_unknown() && kept.is_caught(), "{error}");
        backend.release(&late, Leave::default()).await.unwrap();
        kept.let_go();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let is_free = keys(&server, &format!("cotter/lock/{name}/")).is_empty();
        demand(is_free, Kind::LeftBehind, format!("attempt {n} has left an entry"));
        // A put that was sent after the doubt is not taken for one before it.
        let next = claim(&name, TTL);
        take(&backend, &next).await;
        backend.release(&next, Leave::used(1)).await.unwrap();
    }
}

/// The server stands still for as long as the request is waited for, and goes on with it afterwards.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_put_that_the_server_has_kept_is_undone() {
    let server = Etcd::start(1);
    let url = server.url("timeout=300ms&connect_timeout=300ms");
    let client = client(&url, TTL).await;
    let kept = client.mutex("keeps-the-lease").lock().await.unwrap();
    for n in 0..5 {
        let name = format!("slow{n}");
        server.stop(0);
        let error = client.mutex(&name).try_lock().await.unwrap_err();
        assert!(error.is_retryable(), "{error}");
        server.go_on(0);
        client.mutex(&name).lock().await.unwrap().finish().await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(keys(&server, &format!("cotter/lock/{name}/")).is_empty());
    }
    kept.finish().await.unwrap();
}

/// The engine gives a release up when the cluster is away for too long. Its lease may outlast that: other locks keep it alive,
/// and a new leader sets it anew.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_release_that_was_given_up_is_carried_out_when_the_cluster_is_back() {
    let server = Etcd::start(1);
    let proxy = Proxy::start(server.port(0));
    let url = format!("etcd://127.0.0.1:{}?timeout=300ms", proxy.port());
    let backend = backend(&url).await;
    take(&backend, &claim("keeps-the-lease", TTL)).await;
    let (failed, dropped) = (claim("failed", TTL), claim("dropped", TTL));
    take(&backend, &failed).await;
    take(&backend, &dropped).await;
    proxy.refuse(true);
    proxy.cut();
    let poll = tokio::time::timeout(Duration::from_millis(50), backend.release(&dropped, Leave::used(1)));
    assert!(!matches!(poll.await, Ok(Ok(_))), "nobody answers");
    backend.release(&failed, Leave::used(1)).await.unwrap_err();
    assert_eq!(keys(&server, "cotter/lock/").len(), 3);
    proxy.refuse(false);
    let end = std::time::Instant::now() + Duration::from_secs(10);
    while keys(&server, "cotter/lock/").len() > 1 {
        let in_time = std::time::Instant::now() < end;
        demand(in_time, Kind::LeftBehind, "the lease keeps the entry of a released lock");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

//! Puts and removals that arrive after the release of their claim, and keys that are used again.

use super::keys;
use cotter::backend::{Leave, Mode, Until};
use cotter::{Client, Lease};
use cotter_testkit::bare::{backend, claim, client, take};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Etcd, Proxy};
use cotter_testkit::timing::{FAR, Stopwatch, first_within};
use std::time::{Duration, Instant};

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
        let kept = proxy.keep_request(format!("{name}/").as_bytes());
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

/// Nobody waits for the release any more. The entry does not end with the claim: another lock keeps its lease alive.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_release_that_was_given_up_is_carried_out_when_the_cluster_is_back() {
    let server = Etcd::start(1);
    let proxy = Proxy::start(server.port(0));
    let url = format!("etcd://127.0.0.1:{}?timeout=300ms", proxy.port());
    let builder = Client::builder().lease(Lease::renewed(TTL)).give_up(Duration::from_millis(200));
    let client = builder.connect(url).await.unwrap();
    let kept = client.mutex("keeps-the-lease").lock().await.unwrap();
    let (failed, dropped) =
        (client.mutex("failed").lock().await.unwrap(), client.mutex("dropped").lock().await.unwrap());
    proxy.refuse(true);
    proxy.cut();
    drop(dropped);
    let error = failed.release().await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert_eq!(keys(&server, "cotter/lock/").len(), 3);
    proxy.refuse(false);
    let end = Instant::now() + FAR;
    while keys(&server, "cotter/lock/").len() > 1 {
        demand(Instant::now() < end, Kind::LeftBehind, "the lease keeps the entry of a released lock");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(kept.is_valid());
}

/// A server keeps deleted keys until its history is compacted, and goes through those of a name with each request about it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_name_has_no_more_keys_than_were_used_at_once() {
    let server = Etcd::start(1);
    let backend = backend(&server.url("")).await;
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..60 {
        let (held, refused, queued) = (claim("often", TTL), claim("often", TTL), claim("often", TTL));
        let grant = take(&backend, &held).await;
        assert!(backend.acquire(&refused, Until::Now).await.unwrap().granted().is_none());
        assert!(backend.acquire(&queued, Until::InLine).await.unwrap().granted().is_none());
        let extended = backend.extend(&[&grant], TTL).await.remove(0).unwrap();
        assert!(
            matches!(extended, cotter::backend::Extension::Extended { .. }),
            "round {round}: {extended:?}"
        );
        let found = keys(&server, "cotter/lock/often/");
        assert_eq!(found.len(), 2);
        seen.extend(found);
        backend.release(&held, Leave::used(1)).await.unwrap();
        take(&backend, &queued).await;
        backend.release(&queued, Leave::used(1)).await.unwrap();
    }
    assert!(seen.len() <= 3, "{seen:?}");
}

/// The key of a lock whose removal may still arrive is not that of a later one.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_removal_that_arrives_later_ends_no_other_lock() {
    let server = Etcd::start(1);
    let proxy = Proxy::start(server.port(0));
    let backend = backend(&format!("etcd://127.0.0.1:{}?timeout=300ms", proxy.port())).await;
    let first = claim("late", TTL);
    take(&backend, &first).await;
    let kept = proxy.keep_request(first.id.to_string().as_bytes());
    let error = backend.release(&first, Leave::used(1)).await.unwrap_err();
    assert!(error.is_retryable() && kept.is_caught(), "{error}");
    backend.release(&first, Leave::used(1)).await.unwrap();
    let next = claim("late", TTL);
    take(&backend, &next).await;
    // Whoever releases the first one again has nothing of the next.
    backend.release(&first, Leave::used(1)).await.unwrap();
    kept.let_go();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let text = "the removal of one lock has removed another";
    demand(keys(&server, "cotter/lock/late/").len() == 1, Kind::Overlap, text);
    backend.release(&next, Leave::used(1)).await.unwrap();
}

/// Two copies of a machine have the same keys at their disposal: an entry that was never put is somebody else's.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_key_that_somebody_else_has_makes_nobody_a_holder() {
    let server = Etcd::start(1);
    let (one, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    for mode in [Mode::Exclusive, Mode::Permits { take: 1, of: 1 }] {
        let mut held = claim("copied", TTL);
        held.mode = mode;
        take(&one, &held).await;
        let text = "two processes believe that an entry is theirs";
        demand(other.acquire(&held, Until::Now).await.unwrap().granted().is_none(), Kind::Overlap, text);
        let queued = other.acquire(&held, Until::InLine).await.unwrap();
        demand(queued.granted().is_none(), Kind::Overlap, text);
        other.release(&held, Leave::used(1)).await.unwrap();
        assert_eq!(keys(&server, "cotter/lock/copied/").len(), 1);
        one.release(&held, Leave::used(1)).await.unwrap();
    }
}

/// How many streams are open as soon as it is no more than so many, or when that takes too long. The server gets round to the end of a
/// stream after the client has ended it.
fn open_in_the_end(server: &Etcd, method: &str, wanted: usize) -> usize {
    let _ = first_within(FAR, || (server.open_requests(method) <= wanted).then_some(()));
    server.open_requests(method)
}

/// Neither keepalives nor watches: a client that lives for months would fill the server, and one that is closed would wait for its
/// connection.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn no_stream_is_left_behind() {
    let server = Etcd::start(1);
    let client = client(&server.url(""), Duration::from_secs(2)).await;
    let guard = client.mutex("held").lock().await.unwrap();
    while server.received(Some("LeaseKeepAlive")) < 5 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let open = open_in_the_end(&server, "LeaseKeepAlive", 1);
    demand(open <= 1, Kind::LeftBehind, format!("{open} keepalives are open"));
    assert_eq!(server.open_requests("Watch"), 1);
    guard.finish().await.unwrap();
    let start = Stopwatch::start();
    client.close(Duration::from_secs(20)).await.unwrap();
    start.at_most(Duration::from_secs(5), "nothing holds up the close");
    assert_eq!(open_in_the_end(&server, "Watch", 0), 0);
}

/// One attempt at a busy name leaves no entry, not even for a moment after its answer.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_try_at_a_busy_name_leaves_nothing() {
    let server = Etcd::start(1);
    let (one, other) = (client(&server.url(""), TTL).await, client(&server.url(""), TTL).await);
    let guard = one.mutex("busy").lock().await.unwrap();
    for _ in 0..20 {
        assert!(other.mutex("busy").try_lock().await.unwrap().is_none());
        assert_eq!(keys(&server, "cotter/lock/busy/").len(), 1);
    }
    guard.finish().await.unwrap();
}

//! Answers that never come.

use super::setup::{backend, claim, client, clock, eventually, queued, take};
use cotter::backend::{Host, Leave, Until};
use cotter::{Client, Lease};
use cotter_testkit::servers::{Loss, Proxy, Redis};
use cotter_testkit::timing::Stopwatch;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

async fn is_free_within(limit: Duration, client: &Client, name: &str) {
    let start = Stopwatch::start();
    let guard = client.mutex(name).lock().await.unwrap();
    start.at_most(limit, format!("{name} is free again"));
    guard.finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn an_acquire_whose_answer_is_lost_leaves_nothing() {
    let server = Redis::start();
    for (i, how) in [Loss::Cut, Loss::Silence].into_iter().enumerate() {
        let proxy = Proxy::start(server.port());
        let (shaky, steady) =
            (client(&proxy.redis_url("timeout=500ms"), TTL).await, client(&server.url(""), TTL).await);
        // Every task of this runtime has a connection of its own by now.
        shaky.mutex("warm").lock().await.unwrap().finish().await.unwrap();
        proxy.lose_reply(b"g0", how);
        proxy.lose_reply(b"g1", how);
        let error = shaky.mutex(format!("a{i}")).try_lock().await.unwrap_err();
        assert!(error.is_retryable() && error.outcome_unknown() && proxy.has_lost(), "{error}");
        is_free_within(Duration::from_secs(3), &steady, &format!("a{i}")).await;
    }
}

/// The request itself is late: it arrives after its clean-up.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn an_acquire_that_lands_late_is_undone() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let shaky = client(&proxy.redis_url("timeout=200ms"), TTL).await;
    shaky.mutex("warm").lock().await.unwrap().finish().await.unwrap();
    let steady = client(&server.url(""), TTL).await;
    proxy.delay_requests(Duration::from_millis(700));
    shaky.mutex("a").try_lock().await.unwrap_err();
    proxy.delay_requests(Duration::ZERO);
    tokio::time::sleep(Duration::from_millis(1200)).await;
    is_free_within(Duration::from_secs(3), &steady, "a").await;
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_grant_may_be_released_on_another_connection() {
    use cotter::backend::Connect;
    let server = Redis::start();
    let store = cotter::redis::Store::from_url(server.url("")).unwrap();
    let clock = clock();
    let (one, two) = (
        store.connect(&Host::without_engine(clock.clone())).await.unwrap(),
        store.connect(&Host::without_engine(clock.clone())).await.unwrap(),
    );
    let holder = backend(&server.url("")).await;
    let (held, wanted) = (claim("a", TTL), claim("a", TTL));
    take(&holder, &held).await;
    let (waiter, asked) = (one.clone(), wanted.clone());
    let waiting = tokio::spawn(async move { waiter.acquire(&asked, Until::Forever).await });
    eventually("it waits", || queued(&server, "a") == 1).await;
    let leave = Leave::used(1);
    holder.release(&held, leave).await.unwrap();
    waiting.await.unwrap().unwrap().granted().unwrap();
    assert_eq!(two.release(&wanted, leave).await.unwrap(), cotter::backend::Release::Freed);
    take(&holder, &claim("a", TTL)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_black_hole_is_left_for_a_new_connection() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let url = proxy.redis_url("timeout=300ms&connect_timeout=300ms");
    let client = Client::builder().lease(Lease::renewed(Duration::from_secs(3))).connect(url).await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    // Silence on what is open; what is opened from now on works.
    proxy.lose_reply(b"", Loss::Silence);
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(guard.is_valid(), "renewed over another connection");
    guard.finish().await.unwrap();
}

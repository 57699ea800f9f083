//! The server's own queues, of `GET_LOCK` and of rows: in order, without slices, and nobody in them who has gone.

use super::setup::{backend, claim, eventually, server, take, waiters, waiting};
use cotter::backend::{Leave, Until};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Proxy;
use cotter_testkit::timing::Stopwatch;
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(30);

/// Whoever waits does so in one statement, however long: one that asked again after each time limit would stand behind those who
/// came later. So waiters are served in order of arrival after a wait that is longer than all limits of a client.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_queue_that_outlasts_every_limit_is_served_in_order() {
    const WAITERS: usize = 12;
    let server = server();
    for mode in ["row", "advisory"] {
        let options = format!("mode={mode}&timeout=300ms&connect_timeout=300ms&session_timeout=1s");
        let one = backend(&server.url(&options)).await;
        let first = claim("order", TTL);
        let mut last = take(&one, &first).await.number;
        let mut waits = Vec::new();
        for many in 1..=WAITERS {
            let (one, claim) = (one.clone(), claim("order", TTL));
            waits.push(tokio::spawn(async move {
                let grant = one.acquire(&claim, Until::Forever).await.unwrap().granted().unwrap();
                one.release(&claim, Leave::used(1)).await.unwrap();
                grant.number
            }));
            waiting(&server, many).await;
            // Over more time than a slice would have, or all of them might be at the end of the queue once more.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(3) {
            let newcomer = one.acquire(&claim("order", TTL), Until::Now).await.unwrap().granted();
            demand(newcomer.is_none(), Kind::Overlap, format!("{mode}: it is held"));
            demand(
                waiters(&server) == WAITERS.to_string(),
                Kind::LostPlace,
                format!("{mode}: somebody left"),
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        one.release(&first, Leave::used(1)).await.unwrap();
        for (at, waiter) in waits.into_iter().enumerate() {
            let number = waiter.await.unwrap();
            let text = format!("{mode}: waiter {} was served after one that had come later", at + 1);
            demand(number > last, Kind::LostPlace, text);
            last = number;
        }
    }
}

/// The server looks whether the client of a session that stands in the queue of `GET_LOCK` is still there, and takes it out.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_waiter_whose_client_is_gone_leaves_the_queue() {
    let server = server();
    let proxy = Proxy::start(server.port());
    let held = backend(&server.url("mode=advisory")).await;
    let first = claim("gone", TTL);
    take(&held, &first).await;
    let through = backend(&proxy.mysql_url("mode=advisory")).await;
    let second = claim("gone", TTL);
    let asking = tokio::spawn(async move { through.acquire(&second, Until::Forever).await });
    waiting(&server, 1).await;
    proxy.cut();
    let error = asking.await.unwrap().unwrap_err();
    assert!(error.outcome_unknown() && error.is_retryable(), "{error}");
    let start = Stopwatch::start();
    eventually("it has gone", || waiters(&server) == "0").await;
    start.at_most(Duration::from_secs(3), "who is cut off leaves the queue");
    held.release(&first, Leave::used(1)).await.unwrap();
}

/// Nothing looks at the clients of sessions that wait for a row. One that has gone gets the row in its turn, and its session ends
/// then: those behind it do not wait for it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_dead_waiter_for_a_row_holds_nobody_up() {
    let server = server();
    let proxy = Proxy::start(server.port());
    let held = backend(&server.url("mode=row")).await;
    let first = claim("gone", TTL);
    take(&held, &first).await;
    let mut behind = Vec::new();
    for (store, position) in [(backend(&proxy.mysql_url("mode=row")).await, 1), (held.clone(), 2)] {
        let claim = claim("gone", TTL);
        behind.push(tokio::spawn(async move { store.acquire(&claim, Until::Forever).await }));
        waiting(&server, position).await;
    }
    proxy.cut();
    let (living, dead) = (behind.pop().unwrap(), behind.pop().unwrap());
    dead.await.unwrap().unwrap_err();
    let start = Stopwatch::start();
    held.release(&first, Leave::used(1)).await.unwrap();
    let granted = tokio::time::timeout(Duration::from_secs(20), living).await;
    demand(granted.is_ok(), Kind::StuckWaiter, "the dead hold somebody up");
    start.at_most(Duration::from_secs(2), "the dead hold nobody up");
    let grant = granted.unwrap().unwrap().unwrap().granted().unwrap();
    held.release(&grant.claim, Leave::used(1)).await.unwrap();
}

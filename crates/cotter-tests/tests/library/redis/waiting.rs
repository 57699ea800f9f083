//! Order, hand-over, and the dead who stand in line.

use super::setup::{USED, backend, claim, client, eventually, pass_through, queued, take};
use crate::deserted::leaves_the_queue_after_the_outage;
use cotter_testkit::servers::{Proxy, Redis};
use cotter_testkit::timing::Stopwatch;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn subscriptions_that_are_killed_every_second_hold_nobody_up() {
    let server = Redis::start();
    let mut tasks = Vec::new();
    for _ in 0..5 {
        let client = client(&server.url(""), Duration::from_secs(10)).await;
        for _ in 0..10 {
            let mutex = client.mutex("a");
            tasks.push(tokio::spawn(async move {
                let guard = mutex.lock().await.unwrap();
                tokio::time::sleep(Duration::from_millis(60)).await;
                assert!(guard.is_valid());
                guard.finish().await.unwrap();
            }));
        }
    }
    let end = Instant::now() + Duration::from_secs(60);
    while tasks.iter().any(|t| !t.is_finished()) {
        server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        assert!(Instant::now() < end, "somebody was forgotten");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_killed_holder_costs_its_ttl() {
    let server = Redis::start();
    let ttl = Duration::from_secs(1);
    let (dead, client) = (backend(&server.url("")).await, client(&server.url(""), ttl).await);
    take(&dead, &claim("a", ttl)).await;
    let start = Stopwatch::start();
    drop(dead);
    drop(client.mutex("a").lock().await.unwrap());
    start.at_most(ttl + Duration::from_secs(1), "a killed holder costs its ttl");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_lost_message_costs_one_poll_period() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let (holder, waiter) = (backend(&server.url("")).await, backend(&proxy.redis_url("")).await);
    let held = claim("a", Duration::from_secs(60));
    take(&holder, &held).await;
    let waiting = pass_through(&waiter, "a", Duration::from_secs(6));
    eventually("it waits", || queued(&server, "a") == 1).await;
    proxy.drop_messages(Some(b"granted"));
    let start = Stopwatch::start();
    holder.release(&held, USED).await.unwrap();
    waiting.await.unwrap();
    assert_eq!(proxy.messages_dropped(), 1);
    start.at_most(Duration::from_millis(2500), "a lost message costs one poll period");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_thousand_waiters_are_served_in_order() {
    let server = Redis::start();
    let (holder, waiter) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let held = claim("a", Duration::from_secs(60));
    take(&holder, &held).await;
    let mut waiting = Vec::new();
    for i in 0..1000 {
        waiting.push(pass_through(&waiter, "a", Duration::from_secs(60)));
        eventually("it waits", || queued(&server, "a") == i + 1).await;
    }
    holder.release(&held, USED).await.unwrap();
    let mut last = 0;
    for task in waiting {
        let number = task.await.unwrap();
        assert!(number > last, "{number} came after {last}");
        last = number;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_thousand_waiters_of_one_client_are_all_served() {
    let server = Redis::start();
    let client = client(&server.url(""), Duration::from_secs(30)).await;
    let guard = client.mutex("a").lock().await.unwrap();
    let pass = |mutex: cotter::Mutex| async move {
        let guard = mutex.lock().await.unwrap();
        let token = guard.token();
        guard.finish().await.unwrap();
        token
    };
    let tasks: Vec<_> = (0..1000).map(|_| tokio::spawn(pass(client.mutex("a")))).collect();
    eventually("all wait", || queued(&server, "a") == 1000).await;
    guard.finish().await.unwrap();
    let mut tokens = Vec::new();
    for task in tasks {
        tokens.push(task.await.unwrap());
    }
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 1000);
}

/// Waiters of a process that has ended: nobody listens for them.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn the_dead_in_line_block_nobody() {
    let server = Redis::start();
    let (holder, other) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let ttl = Duration::from_secs(30);
    let held = claim("a", ttl);
    take(&holder, &held).await;
    let mut dead = Vec::new();
    for i in 0..100 {
        let gone = backend(&server.url("")).await;
        dead.push(pass_through(&gone, "a", ttl));
        eventually("it waits", || queued(&server, "a") == i + 1).await;
    }
    for task in dead {
        task.abort();
        let _ = task.await;
    }
    eventually("nobody listens", || server.command(&["PUBSUB", "CHANNELS"]).is_empty()).await;
    assert_eq!(queued(&server, "a"), 100);
    holder.release(&held, USED).await.unwrap();
    // A newcomer passes them; so does one who waits.
    let first = claim("a", ttl);
    take(&other, &first).await;
    let start = Stopwatch::start();
    let waiting = pass_through(&holder, "a", ttl);
    eventually("it waits", || queued(&server, "a") == 101).await;
    other.release(&first, USED).await.unwrap();
    waiting.await.unwrap();
    start.at_most(Duration::from_secs(1), "those who have gone hold nobody up");
}

/// Waiters of a host that has vanished: the server believes that it listens.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_vanished_host_costs_one_ttl_in_all() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let (holder, live) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let ttl = Duration::from_secs(3);
    let held = claim("a", Duration::from_secs(60));
    take(&holder, &held).await;
    let vanished = backend(&proxy.redis_url("")).await;
    let _dead: Vec<_> = (0..10).map(|_| pass_through(&vanished, "a", ttl)).collect();
    eventually("they wait", || queued(&server, "a") == 10).await;
    let waiting = pass_through(&live, "a", ttl);
    eventually("it waits", || queued(&server, "a") == 11).await;
    proxy.freeze(true);
    let start = Stopwatch::start();
    holder.release(&held, USED).await.unwrap();
    waiting.await.unwrap();
    start.at_most(
        ttl + Duration::from_millis(1500),
        "those who have vanished hold nobody up for longer than their ttl",
    );
    proxy.freeze(false);
}

/// The place outlives a connection: who reconnects is served before those who came later.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_reconnect_keeps_the_place() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let (holder, late) = (backend(&server.url("")).await, backend(&server.url("")).await);
    let ttl = Duration::from_secs(30);
    let held = claim("a", ttl);
    take(&holder, &held).await;
    let shaky = backend(&proxy.redis_url("")).await;
    let first = pass_through(&shaky, "a", ttl);
    eventually("it waits", || queued(&server, "a") == 1).await;
    let second = pass_through(&late, "a", ttl);
    eventually("it waits", || queued(&server, "a") == 2).await;
    let subscribers = || server.command(&["CLIENT", "LIST", "TYPE", "pubsub"]);
    let ids = |list: String| -> BTreeSet<String> {
        list.lines().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect()
    };
    let before = ids(subscribers());
    proxy.cut();
    eventually("it listens again", || ids(subscribers()).difference(&before).count() == 1).await;
    holder.release(&held, USED).await.unwrap();
    assert!(first.await.unwrap() < second.await.unwrap());
}

/// The server's clock was stepped back by an hour after a waiter had asked: its silence begins now, not in an hour.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_dead_waiter_that_asked_in_the_future_loses_its_place_all_the_same() {
    let server = Redis::start();
    let backend = backend(&server.url("")).await;
    let held = claim("a", Duration::from_secs(60));
    take(&backend, &held).await;
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let later = format!("{:016}", (time + Duration::from_secs(3600)).as_micros());
    let dead = "0123456789abcdef0123456789abcdef";
    let silence = "00000000500000";
    let entry = format!("{later} {later} 00000060000000 00001 {silence} nobody:listens x label");
    server.command(&["ZADD", "cotter:{a}:q", &later, dead]);
    server.command(&["HSET", "cotter:{a}:w", dead, &entry]);
    server.command(&["SETRANGE", "cotter:{a}", "1", "w"]);
    backend.release(&held, USED).await.unwrap();
    assert_eq!(queued(&server, "a"), 1, "nobody listens for it, and it keeps its place for a while");
    tokio::time::sleep(Duration::from_millis(700)).await;
    take(&backend, &claim("a", Duration::from_secs(60))).await;
    assert_eq!(queued(&server, "a"), 0, "it has been silent for too long");
}

/// Its release is repeated for longer than its lease, which its place outlasts.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_wait_dropped_in_an_outage_leaves_the_queue() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let url = proxy.redis_url("");
    leaves_the_queue_after_the_outage(&server.url(""), (&proxy, &url), || queued(&server, "a")).await;
}

//! HAProxy before servers of which only one is a master, or with less patience than locks are held for.

use crate::players::Players;
use cotter::{Client, Lease, LossCause};
use cotter_testkit::servers::{Haproxy, Postgres, Redis};
use cotter_testkit::timing::{FAR, Stopwatch, eventually, happens};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const TTL: Duration = Duration::from_secs(6);

/// So long may a connection be idle, where less is asked than once in a ttl.
const IDLE: Duration = Duration::from_secs(1);

fn postgres(haproxy: &Haproxy, options: &str) -> String {
    format!("postgres://app:secret@127.0.0.1:{}/cotter?{options}", haproxy.port())
}

fn redis(haproxy: &Haproxy, options: &str) -> String {
    format!("redis://127.0.0.1:{}?{options}", haproxy.port())
}

/// A client; the first connection may lead to a server that takes no writes, which is worth another try.
pub(super) async fn through(url: &str) -> Client {
    let end = Instant::now() + FAR;
    loop {
        match Client::builder().lease(Lease::renewed(TTL)).connect(url).await {
            Err(e) if e.is_retryable() && Instant::now() < end => {}
            connected => return connected.unwrap(),
        }
    }
}

/// Any connection may lead to a replica, which takes no writes. Whoever meets it connects once more.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs haproxy"]
async fn a_replica_now_and_then_makes_no_second_holder() {
    let (master, replica) = (Redis::start(), Redis::start());
    replica.follow(&master);
    let (primary, idle) = (Postgres::start(), FAR * 10);
    primary.migrate_all();
    let standby = Postgres::builder().start_standby_of(&primary);
    let before_redis = Haproxy::before_any(&[master.port(), replica.port()], idle);
    let before_postgres = Haproxy::before_any(&[primary.port(), standby.port()], idle);
    let urls = ["", "mode=plain", "mode=redisson"].map(|mode| redis(&before_redis, mode));
    let more = ["", "mode=shedlock", "mode=row"].map(|mode| postgres(&before_postgres, mode));
    for url in urls.iter().chain(&more) {
        let mut clients = Vec::new();
        for _ in 0..4 {
            clients.push(through(url).await);
        }
        let players = Players::start(clients);
        players.go_on(url, 20).await;
        players.end().await;
    }
}

/// Connections over which nothing is sent are cut, again and again: the holder's between two renewals, and those that waiters listen
/// on.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs haproxy"]
async fn connections_that_are_cut_when_they_are_idle_cost_no_lock_and_no_place() {
    let (server, database) = (Redis::start(), Postgres::start());
    database.migrate("");
    let before_redis = Haproxy::before_any(&[server.port()], IDLE);
    let before_postgres = Haproxy::before_any(&[database.port()], IDLE);
    for url in
        [redis(&before_redis, ""), redis(&before_redis, "mode=redisson"), postgres(&before_postgres, "")]
    {
        let clients = [through(&url).await, through(&url).await, through(&url).await];
        let guard = clients[0].mutex("idle").lock().await.unwrap();
        // Whoever comes first: `mode=redisson` keeps no order.
        let mut waiting = JoinSet::new();
        for client in &clients[1..] {
            waiting.spawn(client.mutex("idle").lock());
            tokio::time::sleep(IDLE / 4).await;
        }
        tokio::time::sleep(TTL * 2).await;
        guard.check().unwrap_or_else(|lost| panic!("violation[needless-loss]: {url}: {lost}"));
        let mut last = guard.token();
        guard.finish().await.unwrap();
        while !waiting.is_empty() {
            let start = Stopwatch::start();
            let next = happens("the next one is served", waiting.join_next()).await;
            let guard = next.expect("somebody waits").unwrap().unwrap();
            start.at_most(TTL / 2, format!("{url}: a waiter is told"));
            assert!(guard.token() > last, "violation[token-order]: {url}");
            last = guard.token();
            guard.finish().await.unwrap();
        }
    }
}

/// A lock that lives with a session ends with the connection, and its holder is told.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs haproxy"]
async fn a_session_that_is_cut_when_it_is_idle_is_told_to_its_holder() {
    let database = Postgres::start();
    database.migrate("");
    let haproxy = Haproxy::before_any(&[database.port()], IDLE);
    for mode in ["mode=row", "mode=advisory"] {
        let (one, other) = (through(&postgres(&haproxy, mode)).await, through(&database.url(mode)).await);
        let guard = one.mutex("cut").lock().await.unwrap();
        let start = Stopwatch::start();
        let lost = happens("it is told", guard.lost()).await;
        assert_eq!(lost.cause, LossCause::SessionLost, "{mode}: {lost}");
        start.at_most(IDLE * 2, format!("{mode}: it is told"));
        let next = happens("it is free", other.mutex("cut").lock()).await.unwrap();
        assert!(next.token() > guard.token(), "{mode}");
        next.finish().await.unwrap();
    }
}

/// The server is away for a moment in which nobody is connected to anything, and its lease goes on.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs haproxy"]
async fn a_server_that_is_away_for_less_than_a_lease_costs_no_lock() {
    let server = Redis::start();
    let haproxy = Haproxy::before_redis(&[server.port()]);
    eventually("it is up", || haproxy.up() == [0]).await;
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(through(&redis(&haproxy, "")).await);
    }
    let guard = through(&redis(&haproxy, "")).await.mutex("one").lock().await.unwrap();
    let players = Players::start(clients);
    server.stop();
    eventually("it is down", || haproxy.up().is_empty()).await;
    server.go_on();
    tokio::time::sleep(TTL).await;
    guard.check().unwrap_or_else(|lost| panic!("violation[needless-loss]: {lost}"));
    guard.finish().await.unwrap();
    players.go_on("those who waited go on", 20).await;
    players.end().await;
}

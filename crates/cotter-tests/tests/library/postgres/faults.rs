//! Sessions that end, servers that restart, and clients that stand still.

use super::setup::{backend, claim, client, driver, eventually, queued, released, server, take};
use cotter::backend::{Leave, Release, Until};
use cotter::{Client, Lease, LossCause};
use cotter_testkit::servers::{Database, Loss, Postgres, Proxy};
use cotter_testkit::timing::{FAR, Stopwatch};
use std::process::Stdio;
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(30);

/// A lease does not live with a session: its holder goes on over another one.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_session_that_is_ended_costs_no_lock() {
    let server = server();
    let ttl = Duration::from_secs(2);
    let (one, other) = (client(&server.url(""), ttl).await, client(&server.url(""), ttl).await);
    let guard = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(async move { other.mutex("a").lock().await.unwrap() });
    eventually("it waits", || queued(&server, "a") == 1).await;
    eventually("two clients and a subscription", || server.sessions() >= 3).await;
    server.end_sessions();
    tokio::time::sleep(ttl * 2).await;
    assert!(guard.is_valid() && !waiting.is_finished(), "it was renewed");
    let token = guard.token();
    let start = Stopwatch::start();
    guard.finish().await.unwrap();
    let next = waiting.await.unwrap();
    assert!(next.token() > token);
    start.at_most(Duration::from_millis(500), "the release wakes the next");
    next.finish().await.unwrap();
}

/// The server restarts while a lock is held and waited for.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_restart_costs_neither_the_lock_nor_the_wait() {
    let mut server = server();
    let (one, other) = (client(&server.url(""), TTL).await, client(&server.url(""), TTL).await);
    let guard = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(async move { other.mutex("a").lock().await.unwrap().token() });
    eventually("it waits", || queued(&server, "a") == 1).await;
    server.restart();
    guard.extend(TTL).await.unwrap();
    let token = guard.token();
    guard.finish().await.unwrap();
    let next = tokio::time::timeout(Duration::from_secs(10), waiting).await.expect("soon").unwrap();
    assert!(next > token);
}

/// The answer to an acquire is lost, and its connection with it: nothing stays locked.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_lost_answer_leaves_nothing() {
    let server = Postgres::migrated();
    let proxy = Proxy::start(server.port());
    let other = client(&server.url(""), TTL).await;
    for loss in [Loss::Cut, Loss::Silence] {
        let one = client(&proxy.postgres_url("timeout=500ms"), TTL).await;
        // The length of the first column, and what it says: granted.
        proxy.lose_reply(b"\0\0\0\x01g", loss);
        let answer = one.mutex("lost-answer").try_lock().await;
        assert!(proxy.has_lost() && answer.is_err(), "{loss:?}: {answer:?}");
        assert!(answer.unwrap_err().outcome_unknown(), "{loss:?}");
        let taken = server
            .sql("select claim is not null or since > 'epoch' from cotter_lock where name = 'lost-answer'");
        assert_eq!(taken, "t", "{loss:?}: it was granted");
        let start = Stopwatch::start();
        let guard = other.mutex("lost-answer").try_lock_for(Duration::from_secs(10)).await.unwrap();
        guard.expect("it was undone").finish().await.unwrap();
        start.at_most(Duration::from_secs(6), format!("{loss:?}: it is undone"));
    }
}

/// A client that stands still for longer than its lease is told so when it goes on, before anything else.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_client_that_cannot_reach_the_server_knows_in_time() {
    let server = Postgres::migrated();
    let proxy = Proxy::start(server.port());
    let ttl = Duration::from_millis(1500);
    let (one, other) = (
        client(&proxy.postgres_url("timeout=300ms"), ttl).await,
        Client::builder().lease(Lease::renewed(TTL)).connect(server.url("")).await.unwrap(),
    );
    let guard = one.mutex("frozen").lock().await.unwrap();
    proxy.freeze(true);
    let waiting = tokio::spawn(async move { (other.mutex("frozen").lock().await.unwrap(), Instant::now()) });
    let lost = guard.lost().await;
    let told = Instant::now();
    assert_eq!(lost.cause, LossCause::Expired, "{lost}");
    let (next, taken) = waiting.await.unwrap();
    assert!(told < taken, "the next holder began {:?} before", told - taken);
    assert!(next.token() > guard.token());
    proxy.freeze(false);
}

/// Clients that are closed leave no session behind.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn sessions_return_to_the_baseline() {
    let server = server();
    for round in 0..3 {
        let clients = [client(&server.url(""), TTL).await, client(&server.url(""), TTL).await];
        let guard = clients[0].mutex("a").lock().await.unwrap();
        let waiting = clients[1].mutex("a");
        let _ = tokio::time::timeout(Duration::from_millis(300), waiting.lock()).await;
        if round == 1 {
            server.end_sessions();
        }
        let _ = guard.release().await;
        for client in clients {
            client.close(FAR).await.unwrap();
        }
        eventually("all sessions are closed", || server.sessions() == 0).await;
    }
    assert_eq!(server.sql("select count(*) from cotter_claim"), "0");
}

/// Somebody has locked the row by hand: requests fail and say so, sessions do not pile up, and afterwards all is as before.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_row_that_somebody_locks_by_hand_is_an_outage() {
    let server = server();
    let (patient, hasty) = (backend(&server.url("")).await, backend(&server.url("timeout=200ms")).await);
    let first = claim("a", TTL);
    take(&patient, &first).await;
    patient.release(&first, Leave::used(1)).await.unwrap();
    let hold = "begin; select from cotter_lock where name = 'a' for update; select pg_sleep(30); commit";
    let mut by_hand = server.psql("cotter").args(["-c", hold]).stdout(Stdio::null()).spawn().unwrap();
    let asleep = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'";
    eventually("it is locked", || server.sql(asleep) == "1").await;
    let error = patient.acquire(&claim("a", TTL), Until::Now).await.unwrap_err();
    assert!(error.is_retryable() && !error.outcome_unknown(), "{error}");
    let second = claim("a", TTL);
    let error = hasty.acquire(&second, Until::Now).await.unwrap_err();
    assert!(error.is_retryable() && error.outcome_unknown(), "{error}");
    // It waited for the row, and gave up.
    let waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
    eventually("its statement has given up", || server.sql(waits) == "0").await;
    assert_eq!(server.sql(asleep), "1", "the row is still locked");
    server.sql("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'");
    by_hand.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while let Release::Unsettled { .. } = released(&hasty, &second).await {
        assert!(Instant::now() < end, "it never settles");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    take(&patient, &claim("a", TTL)).await;
}

/// Nor is it left, or connected to anew: that others are in the way says nothing about it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_row_that_stays_locked_replaces_no_connection() {
    let server = server();
    let backend = backend(&server.url("connections=1")).await;
    let first = claim("a", TTL);
    take(&backend, &first).await;
    backend.release(&first, Leave::used(1)).await.unwrap();
    let sessions =
        "select string_agg(pid::text, ' ' order by pid) from pg_stat_activity where usename = 'app'";
    let before = server.sql(sessions);
    let by_hand = driver(&server).await;
    by_hand.batch_execute("begin; select from cotter_lock where name = 'a' for update").await.unwrap();
    for _ in 0..4 {
        let error = backend.acquire(&claim("a", TTL), Until::Now).await.unwrap_err();
        assert!(error.to_string().contains("locked by another session"), "{error}");
    }
    by_hand.batch_execute("rollback").await.unwrap();
    drop(by_hand);
    take(&backend, &claim("a", TTL)).await;
    eventually("the session of the other one is closed", || server.sessions() == before.split(' ').count())
        .await;
    let after = server.sql(sessions);
    assert_eq!(after, before, "violation[connected-again]: the server carries out what it is told to");
}

//! Sessions that end, servers that restart or stand still, and clients that cannot reach them.

use super::setup::{backend, claim, client, eventually, queued, server, take};
use cotter::backend::{Leave, Until};
use cotter::{Client, Lease, LossCause};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Database, Loss, Mariadb, Proxy};
use cotter_testkit::timing::{FAR, Stopwatch};
use std::process::Stdio;
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(30);

/// A lease does not live with a session: its holder goes on over another one.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_session_that_is_ended_costs_no_lock() {
    let server = server();
    let ttl = Duration::from_secs(2);
    let (one, other) = (client(&server.url(""), ttl).await, client(&server.url(""), ttl).await);
    let guard = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(async move { other.mutex("a").lock().await.unwrap() });
    eventually("it waits", || queued(&server, "a") == 1).await;
    for _ in 0..4 {
        server.end_sessions();
        tokio::time::sleep(ttl / 2).await;
    }
    assert!(guard.is_valid() && !waiting.is_finished(), "it was renewed");
    server.end_sessions();
    let token = guard.token();
    let start = Stopwatch::start();
    guard.finish().await.unwrap();
    let next = waiting.await.unwrap();
    assert!(next.token() > token);
    start.at_most(Duration::from_millis(900), "the release wakes the next");
    next.finish().await.unwrap();
}

/// The server restarts while a lock is held and waited for.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
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

/// The answer to the statement that takes the lock is lost, and its connection with it: nothing stays locked.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_lost_answer_leaves_nothing() {
    let server = Mariadb::migrated();
    let proxy = Proxy::start(server.port());
    let other = client(&server.url(""), TTL).await;
    for loss in [Loss::Cut, Loss::Silence] {
        other.mutex("lost-answer").lock().await.unwrap().finish().await.unwrap();
        let one = client(&proxy.mysql_url("timeout=500ms"), TTL).await;
        proxy.lose_reply(b"Rows matched: 1  Changed: 1", loss);
        let answer = one.mutex("lost-answer").try_lock().await;
        assert!(proxy.has_lost() && answer.is_err(), "{loss:?}: {answer:?}");
        assert!(answer.unwrap_err().outcome_unknown(), "{loss:?}");
        let start = Stopwatch::start();
        let guard = other.mutex("lost-answer").try_lock_for(Duration::from_secs(10)).await.unwrap();
        guard.expect("it was undone").finish().await.unwrap();
        start.at_most(Duration::from_secs(6), format!("{loss:?}: it is undone"));
    }
}

/// The server stands still, as behind a cut network: the holder knows before anybody else can have the lock.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_client_that_gets_no_answer_knows_in_time() {
    let server = server();
    let proxy = Proxy::start(server.port());
    let ttl = Duration::from_millis(1500);
    let (one, other) = (
        client(&proxy.mysql_url("timeout=300ms&connect_timeout=300ms"), ttl).await,
        Client::builder().lease(Lease::renewed(TTL)).connect(server.url("")).await.unwrap(),
    );
    // Its network is cut.
    let guard = one.mutex("a").lock().await.unwrap();
    proxy.freeze(true);
    let waiting = tokio::spawn(async move { (other.mutex("a").lock().await.unwrap(), Instant::now()) });
    assert_eq!(guard.lost().await.cause, LossCause::Expired);
    let told = Instant::now();
    let (next, taken) = waiting.await.unwrap();
    assert!(told < taken, "the next holder began {:?} before", told - taken);
    assert!(next.token() > guard.token());
    next.finish().await.unwrap();
    proxy.freeze(false);
    // The server is stopped.
    let guard = one.mutex("b").lock().await.unwrap();
    let start = Stopwatch::start();
    server.freeze(true);
    assert_eq!(guard.lost().await.cause, LossCause::Expired);
    start.at_most(ttl + Duration::from_millis(500), "the holder is told");
    assert!(one.mutex("c").try_lock().await.is_err(), "a server that is silent is not busy");
    server.freeze(false);
    let again = one.mutex("b").lock().await.unwrap();
    assert!(again.token() > guard.token());
    again.finish().await.unwrap();
}

/// Clients that are closed leave no session behind, in whatever trouble they were.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
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
    assert_eq!(server.sql("SELECT COUNT(*) FROM cotter_locks WHERE state <> ''"), "0");
}

/// Somebody has locked the row by hand: requests fail and say so, and afterwards all is as before.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_row_that_somebody_locks_by_hand_is_an_outage() {
    let server = server();
    let (patient, hasty) = (backend(&server.url("")).await, backend(&server.url("timeout=200ms")).await);
    let first = claim("a", TTL);
    take(&patient, &first).await;
    patient.release(&first, Leave::used(1)).await.unwrap();
    let hold = "BEGIN; SELECT name FROM cotter_locks WHERE name = 'a' FOR UPDATE; SELECT SLEEP(3); COMMIT";
    let mut by_hand = server.client("cotter").args(["-e", hold]).stdout(Stdio::null()).spawn().unwrap();
    let asleep = "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep'";
    eventually("it is locked", || server.sql(asleep) == "1").await;
    let error = patient.acquire(&claim("a", TTL), Until::Now).await.unwrap_err();
    assert!(error.is_retryable() && !error.outcome_unknown(), "{error}");
    assert!(error.to_string().contains("locked by another session"), "{error}");
    let second = claim("a", TTL);
    let error = hasty.acquire(&second, Until::Now).await.unwrap_err();
    assert!(error.is_retryable() && error.outcome_unknown(), "{error}");
    by_hand.wait().unwrap();
    hasty.release(&second, Leave::default()).await.unwrap();
    take(&hasty, &claim("a", TTL)).await;
}

/// Nor is it left, or connected to anew: that others are in the way says nothing about it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_row_that_stays_locked_replaces_no_connection() {
    let server = server();
    let backend = backend(&server.url("connections=1")).await;
    let first = claim("a", TTL);
    take(&backend, &first).await;
    backend.release(&first, Leave::used(1)).await.unwrap();
    let sessions =
        "SELECT GROUP_CONCAT(id ORDER BY id) FROM information_schema.processlist WHERE user = 'app'";
    let before = server.sql(sessions);
    let hold = "BEGIN; SELECT name FROM cotter_locks WHERE name = 'a' FOR UPDATE; SELECT SLEEP(300)";
    let mut by_hand = server.client("cotter").args(["-e", hold]).stdout(Stdio::null()).spawn().unwrap();
    let asleep = "SELECT id FROM information_schema.processlist WHERE state = 'User sleep'";
    eventually("it is locked", || !server.sql(asleep).is_empty()).await;
    for _ in 0..4 {
        let error = backend.acquire(&claim("a", TTL), Until::Now).await.unwrap_err();
        assert!(error.to_string().contains("locked by another session"), "{error}");
    }
    server.sql(&format!("KILL {}", server.sql(asleep)));
    by_hand.wait().unwrap();
    take(&backend, &claim("a", TTL)).await;
    let after = server.sql(sessions);
    assert_eq!(after, before, "violation[connected-again]: the server carries out what it is told to");
}

/// While somebody copies its files, the server answers reads and gives locks of sessions, and keeps each write waiting: whoever
/// has such a lock cannot write its token, and a row that nobody has cannot be locked.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn who_cannot_write_a_token_is_told_so() {
    let server = server();
    for mode in ["advisory", "row"] {
        what_cannot_be_written_is_told(&server, mode).await;
    }
}

async fn what_cannot_be_written_is_told(server: &Mariadb, mode: &str) {
    let client = client(&server.url(&format!("mode={mode}&timeout=500ms")), TTL).await;
    client.mutex("copied").lock().await.unwrap().finish().await.unwrap();
    let mut copying = server.client("cotter");
    let mut copying = copying.args(["-e", "FLUSH TABLES WITH READ LOCK; DO SLEEP(100)"]).spawn().unwrap();
    let copier = || server.sql("SELECT id FROM information_schema.processlist WHERE info LIKE 'DO SLEEP%'");
    eventually("it is copied", || !copier().is_empty()).await;
    let answer = tokio::time::timeout(FAR, client.mutex("copied").try_lock()).await;
    demand(answer.is_ok(), Kind::StuckWaiter, "an attempt has no end");
    let answer = answer.unwrap();
    demand(answer.is_err(), Kind::BusyWhileDown, format!("mode={mode}: {answer:?}, and nobody holds it"));
    assert!(answer.as_ref().unwrap_err().is_retryable(), "{answer:?}");
    server.sql(&format!("KILL {}", copier()));
    copying.wait().unwrap();
    let guard = client.mutex("copied").try_lock_for(FAR).await.unwrap().expect("nothing has stayed");
    guard.finish().await.unwrap();
}

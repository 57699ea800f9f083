//! nutcracker (twemproxy), which closes a connection over which it is sent a command that it does not forward.

use crate::players::Players;
use cotter::{Client, ErrorKind, Filter, Lease, Level, Severity};
use cotter_testkit::servers::{Nutcracker, Redis};
use cotter_testkit::timing::{Stopwatch, eventually, happens};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(4);
/// Who cannot subscribe asks twice a second.
const POLL: Duration = Duration::from_millis(500);

async fn connect(url: &str) -> Client {
    Client::builder().lease(Lease::renewed(TTL)).connect(url).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs nutcracker"]
async fn locks_work_without_subscriptions() {
    let server = Redis::start();
    let nutcracker = Nutcracker::before(&server);
    for mode in ["", "mode=plain", "mode=getset"] {
        let url = nutcracker.url(mode);
        let mut clients = Vec::new();
        for _ in 0..4 {
            clients.push(connect(&url).await);
        }
        let other = connect(&url).await;
        // Beside them, who goes to the server itself shares the lock.
        clients.push(connect(&server.open_url(mode)).await);
        let guard = other.mutex("one").lock().await.unwrap();
        assert!(clients[0].mutex("one").try_lock().await.unwrap().is_none(), "{mode}: it is held");
        tokio::time::sleep(TTL + TTL / 4).await;
        guard.check().expect("it is renewed");
        guard.finish().await.unwrap();
        let players = Players::start(clients);
        players.go_on("they take turns", 30).await;
        players.end().await;

        let findings = other.admin().diagnose().await.unwrap();
        let warned =
            |subject: &str| findings.iter().any(|f| f.subject == subject && f.severity == Severity::Warning);
        assert!(warned("proxy") && warned("subscriptions") == mode.is_empty(), "{mode}: {findings:?}");
        let listed = other.admin().list(Filter::held()).next().await.unwrap_err();
        assert_eq!(listed.kind(), ErrorKind::Unsupported, "{mode}: {listed}");
    }
    a_waiter_polls(&nutcracker).await;
}

async fn a_waiter_polls(nutcracker: &Nutcracker) {
    let (one, other) = (connect(&nutcracker.url("")).await, connect(&nutcracker.url("")).await);
    let guard = one.mutex("polled").lock().await.unwrap();
    guard.put_note("here").await.unwrap();
    let waiting = tokio::spawn(other.mutex("polled").lock());
    tokio::time::sleep(POLL).await;
    let start = Stopwatch::start();
    guard.finish().await.unwrap();
    waiting.await.unwrap().unwrap().finish().await.unwrap();
    start.at_most(POLL * 2, "a waiter asks by itself");
    assert_eq!(other.note("polled").await.unwrap().expect("it is kept").bytes, b"here");
}

/// The server, of these, that has the lock of this name.
fn home<'a>(servers: &'a [Redis; 2], key: &str) -> &'a Redis {
    servers.iter().find(|server| server.command(&["EXISTS", key]) == "1").expect("one of them has it")
}

/// What doctor warns of: a server that is taken out has its locks with it. Whoever holds one there is told when it is renewed, and
/// tokens go by the clock.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs nutcracker"]
async fn a_server_that_is_taken_out_makes_no_holder_that_is_not_told() {
    for mode in ["", "mode=plain"] {
        let servers = [Redis::start(), Redis::start()];
        let nutcracker = Nutcracker::before_several(&[&servers[0], &servers[1]], true);
        let (one, other) = (connect(&nutcracker.url(mode)).await, connect(&nutcracker.url(mode)).await);
        let findings = one.admin().diagnose().await.unwrap();
        assert!(findings.iter().any(|f| f.level == Some(Level::BestEffort)), "{mode}: {findings:?}");
        let guard = one.mutex("one").lock().await.unwrap();
        home(&servers, if mode.is_empty() { "cotter:{one}" } else { "one" }).stop();
        let start = Stopwatch::start();
        let lost = tokio::spawn(guard.lost());
        let next = happens("the lock is free on the other server", other.mutex("one").lock()).await.unwrap();
        happens("who held it is told", lost).await.unwrap();
        start.at_most(TTL + Duration::from_secs(1), format!("{mode}: who held it is told"));
        assert!(next.token() > guard.token(), "violation[repeated-token]: {mode}");
        next.finish().await.unwrap();
    }
}

/// A server that is silent, and is not taken out, costs its own names a wait, and no other name anything.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs nutcracker"]
async fn a_server_that_is_not_taken_out_makes_no_second_holder() {
    let servers = [Redis::start(), Redis::start()];
    let nutcracker = Nutcracker::before_several(&[&servers[0], &servers[1]], false);
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(connect(&nutcracker.url("")).await);
    }
    let players = Players::start(clients);
    players.go_on("they take turns", 10).await;
    let holding = players.hold().await;
    let silent = home(&servers, "cotter:{one}");
    silent.stop();
    happens("the holder is told", holding).await.expect("it ends in order");
    tokio::time::sleep(TTL).await;
    silent.go_on();
    players.go_on("they go on", 10).await;
    players.end().await;
    eventually("it is free", || silent.command(&["EXISTS", "cotter:{one}"]) == "1").await;
}

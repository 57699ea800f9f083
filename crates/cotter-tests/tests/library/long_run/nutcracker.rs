//! nutcracker (twemproxy), which closes a connection over which it is sent a command that it does not forward.

use crate::players::Players;
use cotter::{Client, ErrorKind, Filter, Lease, Severity};
use cotter_testkit::servers::{Nutcracker, Redis};
use cotter_testkit::timing::Stopwatch;
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

//! Packets that are dropped: the server frees the lock in time, and its holder knew before.

use super::setup::{backend, claim, client, server, take};
use cotter::LossCause;
use cotter::backend::{Leave, Until};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Proxy;
use cotter_testkit::timing::{Stopwatch, eventually, happens};
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(30);
const MODES: [&str; 2] = ["row", "advisory"];

/// Nothing reaches the server any more, and nothing comes back.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_holder_that_cannot_be_reached_knows_before_its_lock_is_free() {
    let server = server();
    let silence = Duration::from_millis(1200);
    let mut all = Vec::new();
    let proxy = Proxy::start(server.port());
    for mode in MODES {
        let options = format!("mode={mode}&session_timeout={}ms&timeout=300ms", silence.as_millis());
        let one = client(&proxy.postgres_url(&options), TTL).await;
        let other = client(&server.url(&format!("mode={mode}")), TTL).await;
        let guard = one.mutex("cut off").lock().await.unwrap();
        let next =
            tokio::spawn(async move { (other.mutex("cut off").lock().await.unwrap(), Instant::now()) });
        all.push((mode, guard, one, next));
    }
    eventually("they wait", || server.sql("select count(*) from pg_locks where not granted") == "2").await;
    proxy.freeze(true);
    let cut = Stopwatch::of(Kind::SlowHandOver);
    let mut told = Vec::new();
    for (_, guard, ..) in &all {
        let lost = guard.lost();
        told.push(tokio::spawn(async move { (lost.await, Instant::now()) }));
    }
    for ((mode, guard, _one, next), lost) in all.into_iter().zip(told) {
        let (next, taken) = happens("it is freed", next).await.unwrap();
        let (lost, told) = lost.await.unwrap();
        assert_eq!(lost.cause, LossCause::SessionLost, "{mode}: {lost}");
        let text =
            format!("{mode}: told {:?} after the next one held it", told.saturating_duration_since(taken));
        demand(told <= taken, Kind::LateLoss, text);
        // The server's patience, and a second.
        cut.took_at_most(cut.upto(taken), silence + Duration::from_secs(1), format!("{mode}: it is free"));
        assert!(next.token() > guard.token(), "{mode}");
    }
    proxy.freeze(false);
}

/// Whoever waits and cannot be reached is served in turn, and passed over when its session is silent then.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn a_waiter_that_cannot_be_reached_is_passed_over() {
    let server = server();
    for mode in MODES {
        let proxy = Proxy::start(server.port());
        let options = format!("mode={mode}&session_timeout=800ms");
        let held = backend(&server.url(&format!("mode={mode}"))).await;
        let first = claim("passed", TTL);
        take(&held, &first).await;
        let (gone, next) =
            (backend(&proxy.postgres_url(&options)).await, backend(&server.url(&options)).await);
        let waits = |many: &'static str| {
            let server = &server;
            eventually("it waits", move || {
                server.sql("select count(*) from pg_stat_activity where wait_event_type = 'Lock'") == many
            })
        };
        let lost = claim("passed", TTL);
        let asking = {
            let lost = lost.clone();
            tokio::spawn(async move { gone.acquire(&lost, Until::Forever).await })
        };
        waits("1").await;
        let last = claim("passed", TTL);
        let waiting = {
            let (next, last) = (next.clone(), last.clone());
            tokio::spawn(async move { next.acquire(&last, Until::Forever).await.unwrap().granted() })
        };
        waits("2").await;
        proxy.freeze(true);
        let start = Stopwatch::start();
        held.release(&first, Leave::used(1)).await.unwrap();
        let granted = happens("it is served", waiting).await.unwrap();
        assert!(granted.is_some(), "{mode}");
        start.at_most(Duration::from_secs(2), format!("{mode}: it is served"));
        asking.abort();
        next.release(&last, Leave::used(1)).await.unwrap();
    }
}

/// A host that has vanished says nothing: both ends ask each other after five seconds of silence, instead of two hours.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
#[cfg(target_os = "linux")]
async fn both_ends_ask_whether_the_other_is_there() {
    let server = server();
    let clients =
        [client(&server.url("mode=row"), TTL).await, client(&server.url("mode=advisory"), TTL).await];
    let mut guards = Vec::new();
    for client in &clients {
        guards.push(client.mutex("kept").lock().await.unwrap());
    }
    let sessions =
        server.sql("select count(*) from cotter_session where claim is not null").parse::<usize>().unwrap();
    assert_eq!(sessions, 2);
    let port = format!(":{:04X}", server.port());
    // Local and remote address, state, queues, and the kind and the time of the timer that runs.
    let asks = |at: usize| {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let soon = |timer: &str| {
            let (kind, left) = timer.split_once(':').unwrap();
            kind == "02" && u64::from_str_radix(left, 16).unwrap() <= 600
        };
        rows.filter(|row| row.len() > 5 && row[at].ends_with(&port) && row[3] == "01" && soon(row[5])).count()
    };
    // Each client has a connection for requests beside that of its lock, which the server does not ask about.
    eventually("the server asks the holders", || asks(1) >= sessions).await;
    eventually("the clients ask the server", || asks(2) >= server.sessions()).await;
    for guard in guards {
        guard.finish().await.unwrap();
    }
}

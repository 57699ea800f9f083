//! A way to the cluster that is too slow for the shortest lease.

use super::keys;
use cotter_testkit::bare::client;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Etcd, Proxy};
use cotter_testkit::timing::{eventually, happens};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);
/// Between two looks at the line.
const PAUSE: Duration = Duration::from_millis(200);
/// So many looks at the same line take several times as long as the shortest lease lasts.
const KEPT: usize = 40;
/// So many are enough for a few leases that end too early, each twice as long as the one before.
const LOOKS: usize = 300;

/// The lease of those who wait is the shortest one. If it ends between two keepalives, the next one is longer: otherwise a waiter
/// would lose its place again and again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_waiter_with_a_slow_way_keeps_its_place_in_the_end() {
    let server = Etcd::start(1);
    let proxy = Proxy::start(server.port(0));
    let near = client(&server.url(""), TTL).await;
    let far = client(&format!("etcd://127.0.0.1:{}?timeout=20s", proxy.port()), TTL).await;
    let guard = near.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(async move { far.mutex("a").lock().await.unwrap() });
    let line = || keys(&server, "cotter/lock/a/");
    eventually("it is in line", || line().len() == 2).await;
    proxy.delay_requests(Duration::from_millis(900));
    let (mut places, mut unchanged) = (line(), 0);
    for look in 0.. {
        demand(look < LOOKS, Kind::LostPlace, format!("a place is lost again and again: {places:?}"));
        tokio::time::sleep(PAUSE).await;
        let now = line();
        unchanged = if now == places && now.len() == 2 { unchanged + 1 } else { 0 };
        if unchanged == KEPT {
            break;
        }
        places = now;
    }
    proxy.delay_requests(Duration::ZERO);
    guard.finish().await.unwrap();
    happens("it is served", waiting).await.unwrap().finish().await.unwrap();
}

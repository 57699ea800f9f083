//! A member that stands still, for example because its disk does, while its connections live.

use super::keys;
use cotter_testkit::bare::client;
use cotter_testkit::history::Kind;
use cotter_testkit::servers::{Etcd, Standstill};
use cotter_testkit::timing::{Stopwatch, eventually, happens};
use std::time::Duration;

/// A quarter of it is the time after which a missing word is made up for.
const TTL: Duration = Duration::from_secs(60);
const AT_ONCE: Duration = Duration::from_secs(3);
/// Those who wait keep their leases alive twice in this time, and look where they stand when that has failed.
const LOOKED: Duration = Duration::from_secs(4);

/// Requests leave such a member when one has no answer. So do watches, or who waits would be told nothing.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn a_waiter_is_woken_although_its_member_stands_still() {
    let server = Etcd::start(1);
    let member = Standstill::before(server.port(0));
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", member.port(), server.port(0));
    let one = client(&format!("etcd://{hosts}?timeout=500ms"), TTL).await;
    let other = client(&server.url(""), TTL).await;
    let held = other.mutex("a").lock().await.unwrap();
    let mutex = one.mutex("a");
    let waiting = tokio::spawn(async move { mutex.lock().await.unwrap() });
    eventually("it is in the queue", || keys(&server, "cotter/lock/a/").len() == 2).await;
    tokio::time::sleep(Duration::from_millis(500)).await;

    member.begin();
    let elsewhere = happens("requests go to another member", one.mutex("b").lock()).await;
    elsewhere.unwrap().finish().await.unwrap();
    tokio::time::sleep(LOOKED).await;
    let start = Stopwatch::of(Kind::IdleWaiter);
    held.finish().await.unwrap();
    happens("the next one is served", waiting).await.unwrap().finish().await.unwrap();
    start.at_most(AT_ONCE, "the next one is woken");
}

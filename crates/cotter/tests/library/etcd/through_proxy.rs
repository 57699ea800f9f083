//! `etcd grpc-proxy`, etcd's own answer to many clients: it gives watches other numbers than they are asked for with.

use super::keys;
use cotter::{Client, Guard, LatchEnd, LossCause};
use cotter_testkit::bare::client;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Etcd, GrpcProxy};
use cotter_testkit::timing::eventually;
use std::time::{Duration, Instant};

/// A third of it, or a quarter, is the time after which a missing word is made up for.
const TTL: Duration = Duration::from_secs(60);
const AT_ONCE: Duration = Duration::from_secs(3);
/// A lock that is held for so long is watched.
const WATCHED: Duration = Duration::from_millis(150);
/// A note is read every five seconds in any case.
const NOTE: Duration = Duration::from_millis(1500);

/// Takes locks and releases them once they are watched.
async fn short_locks(client: &Client, count: usize) {
    for _ in 0..count {
        let short = client.mutex("short").lock().await.unwrap();
        tokio::time::sleep(WATCHED).await;
        demand(short.is_valid(), Kind::NeedlessLoss, format!("the short one: {:?}", short.check()));
        short.finish().await.unwrap();
    }
}

async fn told(guard: &Guard) {
    let told = tokio::time::timeout(AT_ONCE, guard.lost()).await;
    demand(told.is_ok(), Kind::LateLoss, "the loss was not told at once");
    assert_eq!(told.expect("demanded").cause, LossCause::Gone);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn the_release_of_one_lock_ends_no_other() {
    let server = Etcd::start(1);
    let proxy = GrpcProxy::start(&server);
    let client = client(&proxy.url(), TTL).await;
    let long = client.mutex("long").lock().await.unwrap();
    let other = client.mutex("other").lock().await.unwrap();
    tokio::time::sleep(WATCHED).await;
    short_locks(&client, 6).await;
    tokio::time::sleep(WATCHED).await;
    for held in [&long, &other] {
        demand(held.is_valid(), Kind::NeedlessLoss, format!("the long ones: {:?}", held.check()));
    }
    // Nor has the end of the watches of the short ones ended theirs.
    server.ctl(&["del", "--prefix", "cotter/lock/long/"]);
    told(&long).await;
    demand(other.is_valid(), Kind::NeedlessLoss, format!("the other one: {:?}", other.check()));
    server.ctl(&["del", "--prefix", "cotter/lock/other/"]);
    told(&other).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn each_waiter_is_woken() {
    let server = Etcd::start(1);
    let proxy = GrpcProxy::start(&server);
    let (one, other) = (client(&proxy.url(), TTL).await, client(&proxy.url(), TTL).await);
    let _watched = other.mutex("elsewhere").lock().await.unwrap();
    tokio::time::sleep(WATCHED).await;
    let mut held = one.mutex("a").lock().await.unwrap();
    let mut waiting = Vec::new();
    for n in 0..5 {
        let mutex = other.mutex("a");
        waiting.push(tokio::spawn(async move { mutex.lock().await.unwrap() }));
        eventually("it is in the queue", || keys(&server, "cotter/lock/a/").len() == n + 2).await;
    }
    tokio::time::sleep(WATCHED).await;
    for next in waiting {
        let start = Instant::now();
        held.finish().await.unwrap();
        let woken = tokio::time::timeout(AT_ONCE, next).await;
        demand(woken.is_ok(), Kind::StuckWaiter, format!("not woken within {:?}", start.elapsed()));
        held = woken.expect("demanded").unwrap();
    }
    held.finish().await.unwrap();
}

/// A latch and an election are notes, which are watched for writes.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd"]
async fn who_follows_a_note_is_told() {
    let server = Etcd::start(1);
    let proxy = GrpcProxy::start(&server);
    let (one, other) = (client(&proxy.url(), TTL).await, client(&proxy.url(), TTL).await);
    let _watched = other.mutex("elsewhere").lock().await.unwrap();
    tokio::time::sleep(WATCHED).await;
    one.latch("latch").create(1).await.unwrap();
    let latch = other.latch("latch");
    let opened = tokio::spawn(async move { latch.wait().await.unwrap() });
    let mut observer = other.election("election").observe();
    let told = tokio::time::timeout(AT_ONCE, observer.next()).await;
    assert!(told.expect("the first answer needs no watch").unwrap().is_none());
    tokio::time::sleep(WATCHED * 2).await;
    one.latch("latch").count_down("party").await.unwrap();
    let told = tokio::time::timeout(NOTE, opened).await;
    demand(told.is_ok(), Kind::StuckWaiter, format!("the latch: not told within {NOTE:?}"));
    assert_eq!(told.unwrap().unwrap(), LatchEnd::Open);
    let observing = tokio::spawn(async move { observer.next().await.unwrap() });
    tokio::time::sleep(WATCHED).await;
    let leadership = one.election("election").campaign().await.unwrap();
    leadership.announce("here").await.unwrap();
    let told = tokio::time::timeout(NOTE, observing).await;
    demand(told.is_ok(), Kind::StuckWaiter, format!("the election: not told within {NOTE:?}"));
    assert!(told.unwrap().unwrap().is_some());
    leadership.resign().await.unwrap();
}

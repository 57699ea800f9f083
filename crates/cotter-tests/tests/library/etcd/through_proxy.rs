//! `etcd grpc-proxy`, etcd's own answer to many clients: it gives watches other numbers than they are asked for with.

use super::keys;
use cotter::{Client, Guard, LatchEnd, LeaderState, LossCause};
use cotter_testkit::bare::client;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Etcd, GrpcProxy};
use cotter_testkit::timing::{Stopwatch, eventually, happens};
use std::time::Duration;

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
    let since = Stopwatch::of(Kind::LateLoss);
    let lost = happens("the loss is told", guard.lost()).await;
    since.at_most(AT_ONCE, "the loss is told at once");
    assert_eq!(lost.cause, LossCause::Gone);
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
        let start = Stopwatch::of(Kind::IdleWaiter);
        held.finish().await.unwrap();
        held = happens("the next one is served", next).await.unwrap();
        start.at_most(AT_ONCE, "the next one is woken");
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
    let mut watch = other.election("election").watch();
    let first = happens("the first answer needs no watch", watch.changed()).await;
    assert_eq!(first.unwrap(), LeaderState::Vacant);
    tokio::time::sleep(WATCHED * 2).await;
    let start = Stopwatch::of(Kind::IdleWaiter);
    one.latch("latch").count_down("party").await.unwrap();
    assert_eq!(happens("the latch is open", opened).await.unwrap(), LatchEnd::Open);
    start.at_most(NOTE, "who waits for the latch is told");
    let observing = tokio::spawn(async move { watch.changed().await.unwrap() });
    tokio::time::sleep(WATCHED).await;
    let leadership = one.election("election").campaign().await.unwrap();
    let start = Stopwatch::of(Kind::IdleWaiter);
    leadership.announce("here").await.unwrap();
    assert!(happens("there is a leader", observing).await.unwrap().leader().is_some());
    start.at_most(NOTE, "who follows the election is told");
    leadership.resign().await.unwrap();
}

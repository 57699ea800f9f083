//! Slots that move while their names are held and waited for.

use super::{PATIENT, TTL, connect};
use crate::redis::setup::{hand_over, queued};
use cotter::backend::Filter;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::RedisCluster;
use cotter_testkit::timing::{Stopwatch, eventually, happens};

/// The lock is renewed and released with some of its keys here, and some there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_lock_lives_on_while_its_slot_moves() {
    let cluster = RedisCluster::start(PATIENT);
    let (one, other) = (connect(&cluster, TTL / 3, "").await, connect(&cluster, TTL / 3, "").await);
    let held = one.mutex("a").lock().await.unwrap();
    let another = one.mutex("b").lock().await.unwrap();
    let slot = cluster.slot("a");
    let from = cluster.master_of(slot, 0);
    let to = (from + 1) % 3;
    cluster.begin_move(slot, from, to);
    // Its lease would be over.
    tokio::time::sleep(TTL / 2).await;
    held.check().expect("violation[needless-loss]: it is renewed where it was");
    while cluster.move_keys(slot, from, to, 1) > 0 {}
    tokio::time::sleep(TTL / 2).await;
    held.check().expect("violation[needless-loss]: it is renewed where it is");
    let listed = one.admin().list(Filter::held()).collect().await.unwrap();
    assert!(listed.iter().all(|record| *record.name == *"b"), "{listed:?}");
    assert_eq!(listed.len(), 1, "what moves hides nothing else");
    let soon = Stopwatch::start();
    let gone = other.mutex("a").try_lock_for(TTL / 6).await;
    assert!(!matches!(gone, Ok(Some(_))), "{gone:?}");
    soon.at_most(TTL, "whoever waits for a slot that moves does not wait for longer than it would");
    let token = held.token();
    let start = Stopwatch::start();
    held.finish().await.unwrap();
    start.at_most(TTL / 6, "nobody waits for it, and the lock itself says so");
    another.finish().await.unwrap();
    let waiting = tokio::spawn(other.mutex("a").lock());
    cluster.end_move(slot, from, to);
    let next = happens("it is served", waiting).await.unwrap().unwrap();
    demand(next.token() > token, Kind::TokenOrder, "tokens rise");
    next.finish().await.unwrap();
}

/// Whoever waits is served by the master that has the slot then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_waiter_follows_the_slot() {
    let cluster = RedisCluster::start(PATIENT);
    let (one, other) = (connect(&cluster, TTL, "").await, connect(&cluster, TTL, "").await);
    let held = one.mutex("a").lock().await.unwrap();
    let slot = cluster.slot("a");
    let from = cluster.master_of(slot, 0);
    let to = (from + 1) % 3;
    let waiting = tokio::spawn(other.mutex("a").lock());
    eventually("it waits", || queued(&cluster.nodes[from], "a") == 1).await;
    cluster.move_slot(slot, from, to);
    let channels = || cluster.nodes[to].command(&["PUBSUB", "CHANNELS", "cotter:wake:*"]);
    eventually("the waiter is subscribed where the slot is", || channels().contains("wake")).await;
    hand_over(held, waiting, TTL / 6).await.finish().await.unwrap();
}

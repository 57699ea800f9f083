//! What becomes of locks and waiters when another server becomes the master.

use super::{SILENCE, TTL, connect, replaced};
use crate::players::Players;
use crate::redis::setup::{hand_over, locked_again, queued};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::RedisCluster;
use cotter_testkit::timing::{Stopwatch, eventually};
use std::time::Duration;

/// A lock that an old master has released last may be held until the end of its lease on the new one.
const SHORT: Duration = Duration::from_secs(2);
/// The time from the loss of a master until its names can be locked.
const BACK: Duration = Duration::from_secs(8);

/// With a replica that has each grant, nobody else gets a lock that is held. There is one replica, so that nothing is granted until
/// an old master has come back as the replica of the new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn everybody_goes_on_with_the_new_master() {
    let cluster = RedisCluster::start(SILENCE);
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(connect(&cluster, SHORT, "replicas=1&timeout=1s").await);
    }
    let players = Players::start(clients);
    players.go_on("all is well", 10).await;
    let slot = cluster.slot("one");
    let back = async |what: &str| {
        let start = Stopwatch::start();
        players.go_on(what, 10).await;
        start.at_most(BACK + SHORT, what);
    };

    let first = cluster.master_of(slot, 0);
    cluster.fail_over(first + 3);
    let second = replaced(&cluster, slot, first).await;
    back("an operator orders a failover").await;
    eventually("the old one follows", || cluster.follows(first)).await;

    cluster.nodes[second].stop();
    assert_eq!(replaced(&cluster, slot, second).await, first);
    cluster.nodes[second].go_on();
    back("the old master is back, and knows of nothing").await;
    players.end().await;
}

/// In every mode, and whatever stands still meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_lock_can_be_had_again_in_every_mode() {
    let mut cluster = RedisCluster::start(SILENCE);
    let mut clients = Vec::new();
    for mode in ["", "mode=plain", "mode=getset"] {
        let client = connect(&cluster, SHORT, mode).await;
        client.mutex("{a}before").lock().await.unwrap().finish().await.unwrap();
        clients.push((mode, client));
    }
    let old = cluster.master_of(cluster.slot("a"), 0);
    cluster.nodes[old].kill();
    let start = Stopwatch::start();
    for (mode, client) in &clients {
        // In native mode, braces in a name are no tag.
        let name = if mode.is_empty() { "a".to_owned() } else { format!("{{a}}{mode}") };
        locked_again(&client.mutex(name)).await.finish().await.unwrap();
    }
    start.at_most(BACK + SHORT, "locks can be had from the new master");
}

/// The place of a waiter and the lock of a holder are on the replica. Nobody has to ask for them again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_waiter_is_served_by_the_new_master() {
    let cluster = RedisCluster::start(SILENCE);
    let (one, other) = (connect(&cluster, TTL, "").await, connect(&cluster, TTL, "").await);
    let held = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(other.mutex("a").lock());
    let slot = cluster.slot("a");
    let old = cluster.master_of(slot, 0);
    let mut replica = cluster.nodes[old + 3].wire();
    assert_eq!(replica.command(&["READONLY"]).unwrap(), "OK");
    eventually("it waits on both", || {
        queued(&cluster.nodes[old], "a") == 1 && replica.command(&["ZCARD", "cotter:{a}:q"]).unwrap() == "1"
    })
    .await;
    cluster.nodes[old].stop();
    let new = replaced(&cluster, slot, old).await;
    let channels = || cluster.nodes[new].command(&["PUBSUB", "CHANNELS", "cotter:wake:*"]);
    eventually("the waiter is subscribed on the new master", || channels().contains("wake")).await;
    held.check().expect("violation[needless-loss]: the new master has the lock");
    drop(hand_over(held, waiting, TTL / 6).await);
    cluster.nodes[old].go_on();
}

/// One master is silent; locks on the others are renewed with it, and not instead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_silent_master_ends_no_lease_on_another() {
    // Nobody replaces it.
    let cluster = RedisCluster::start(20 * SILENCE);
    let client = connect(&cluster, SHORT, "").await;
    let slots = ["a", "b", "c", "d", "e", "f"].map(|name| (name, cluster.master_of(cluster.slot(name), 0)));
    let silent = slots[0].1;
    let mut held = Vec::new();
    for (name, node) in slots {
        held.push((node, client.mutex(name).lock().await.unwrap()));
    }
    assert!(held.iter().any(|(node, _)| *node != silent), "{slots:?}");
    cluster.nodes[silent].stop();
    tokio::time::sleep(2 * SHORT).await;
    for (node, guard) in &held {
        let kept = guard.check().is_ok();
        demand(kept || *node == silent, Kind::NeedlessLoss, format!("{} was lost", guard.name()));
        assert!(!kept || *node != silent, "its lease is over");
    }
    cluster.nodes[silent].go_on();
}

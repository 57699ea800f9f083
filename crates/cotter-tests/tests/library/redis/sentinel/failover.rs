//! What becomes of locks, waiters and tokens when another server becomes the master.

use super::{TTL, Watched};
use crate::players::Players;
use crate::redis::setup::{hand_over, locked_again, queued};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::{Stopwatch, eventually};
use std::time::Duration;

/// The time from the loss of the master until locks can be had: the sentinels take one to two seconds.
const BACK: Duration = Duration::from_secs(8);
/// A lock that an old master has released last may be held until the end of its lease on the new one.
const SHORT: Duration = Duration::from_secs(2);

/// With a replica that has each grant, nobody else gets a lock that is held.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn everybody_goes_on_with_the_new_master() {
    let watched = Watched::start();
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(watched.connect_for(SHORT, "replicas=1&timeout=1s").await);
    }
    let players = Players::start(clients);
    players.go_on("all is well", 10).await;
    let back = async |what: &str| {
        let start = Stopwatch::start();
        players.go_on(what, 10).await;
        start.at_most(BACK + SHORT, what);
    };

    let first = watched.master();
    eventually("they obey", || watched.sentinels.fail_over()).await;
    back("an operator orders a failover").await;
    let second = watched.replaced(first).await;
    watched.follows(first).await;

    watched.servers[second].stop();
    back("the master stands still").await;
    watched.replaced(second).await;
    watched.servers[second].go_on();
    back("the old master is back, and knows of nothing").await;
    players.end().await;
}

/// In every mode, and whatever the sentinels do meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_lock_can_be_had_again_in_every_mode() {
    let mut watched = Watched::start();
    let mut clients = Vec::new();
    for mode in ["", "mode=plain", "mode=getset", "mode=redisson"] {
        let client = watched.connect_for(SHORT, mode).await;
        client.mutex(format!("before:{mode}")).lock().await.unwrap().finish().await.unwrap();
        clients.push((mode, client));
    }
    let old = watched.master();
    watched.servers[old].kill();
    watched.sentinels.stop(0);
    let start = Stopwatch::start();
    for (mode, client) in &clients {
        let name = format!("after:{mode}");
        locked_again(&client.mutex(&name)).await.finish().await.unwrap();
    }
    // One sentinel of three costs the time that it is waited for.
    start.at_most(BACK + SHORT, "locks can be had from the new master");
    watched.sentinels.go_on(0);
}

/// The place of a waiter and the lock of a holder are on the replica. Nobody has to ask for them again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_waiter_is_served_by_the_new_master() {
    let watched = Watched::start();
    let (one, other) = (watched.connect("").await, watched.connect("").await);
    let held = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(other.mutex("a").lock());
    eventually("it waits on each", || watched.servers.iter().all(|server| queued(server, "a") == 1)).await;
    let old = watched.master();
    watched.servers[old].stop();
    let new = &watched.servers[watched.replaced(old).await];
    let channels = || new.command(&["PUBSUB", "CHANNELS", "cotter:wake:*"]);
    eventually("the waiter is subscribed on the new master", || channels().contains("wake")).await;
    held.check().expect("violation[needless-loss]: the new master has the lock");
    drop(hand_over(held, waiting, TTL / 6).await);
    watched.servers[old].go_on();
}

/// The announcement of the new master is enough: an old one that goes on knows of nothing for some seconds, and takes requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_master_that_was_replaced_is_left_before_it_knows() {
    let watched = Watched::start();
    let (one, other) = (watched.connect("").await, watched.connect("").await);
    for client in [&one, &other] {
        client.mutex("before").lock().await.unwrap().finish().await.unwrap();
    }
    let old = watched.master();
    watched.servers[old].stop();
    watched.replaced(old).await;
    let held = locked_again(&one.mutex("a")).await;
    watched.servers[old].go_on();
    let second = other.mutex("a").try_lock().await.unwrap();
    demand(second.is_none() || !held.is_valid(), Kind::Overlap, "the lock is held on the new master");
    let clients = || watched.servers[old].command(&["CLIENT", "LIST", "TYPE", "normal"]);
    eventually("nobody is connected any more", || !clients().contains("name=cotter")).await;
}

/// What a replica has not got is lost with the master; the clock keeps tokens rising.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn tokens_rise_although_the_replica_is_behind() {
    let mut watched = Watched::start();
    let client = watched.connect("").await;
    let mutex = client.mutex("a");
    mutex.lock().await.unwrap().finish().await.unwrap();
    eventually("the replicas have it", || {
        watched.servers.iter().all(|server| server.command(&["EXISTS", "cotter:{a}"]) == "1")
    })
    .await;
    watched.servers[1..].iter().for_each(Redis::stop);
    let mut last = None;
    for _ in 0..50 {
        let guard = mutex.lock().await.unwrap();
        last = Some(guard.token());
        guard.finish().await.unwrap();
    }
    watched.servers[0].kill();
    watched.servers[1..].iter().for_each(Redis::go_on);
    let guard = locked_again(&mutex).await;
    demand(Some(guard.token()) > last, Kind::TokenOrder, "tokens rise over the failover");
}

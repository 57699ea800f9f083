//! What is believed of what sentinels say.

use super::played::Told;
use super::{TTL, server};
use crate::redis::setup::eventually;
use cotter::{Client, Lease};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Redis, acl_rule};
use cotter_testkit::timing::{Stopwatch, happens};
use std::time::Duration;

pub(super) fn url(sentinels: &[&Told]) -> String {
    let hosts: Vec<_> = sentinels.iter().map(|told| format!("127.0.0.1:{}", told.port)).collect();
    let rule = acl_rule("native");
    let password = rule.iter().find_map(|word| word.strip_prefix('>')).unwrap();
    format!("redis+sentinel://{}:{password}@{}/store", rule[2], hosts.join(","))
}

async fn connect(sentinels: &[&Told]) -> Client {
    let url = url(sentinels);
    Client::builder().lease(Lease::renewed(TTL)).local_turns(false).connect(url).await.unwrap()
}

/// An old master that was cut off together with a sentinel goes on as if nothing had happened.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_sentinel_that_has_not_heard_of_a_failover_is_not_believed() {
    let (old, new) = (server(), server());
    let (behind, also_behind, knows) = (Told::to_say(&old, 4), Told::to_say(&old, 4), Told::to_say(&new, 5));
    let held = connect(&[&knows]).await.mutex("a").lock().await.unwrap();
    let second = connect(&[&behind, &also_behind, &knows]).await.mutex("a").try_lock().await.unwrap();
    demand(second.is_none(), Kind::Overlap, "the lock is held on the new master");
    held.check().unwrap();
}

/// The announcement of the new master is enough: an old one that goes on after it stood still knows of nothing for some seconds, and
/// takes requests. The sentinel that leads the failover announces the end of it only when all replicas follow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_master_that_was_replaced_is_left_when_it_is_announced() {
    for is_over in [true, false] {
        let (old, new) = (server(), server());
        let told = Told::to_say(&old, 1);
        let client = connect(&[&told]).await;
        client.mutex("a").lock().await.unwrap().finish().await.unwrap();
        eventually("it listens", || told.listeners() > 0).await;
        // What it has missed so far is asked for once it listens.
        tokio::time::sleep(Duration::from_millis(300)).await;
        told.say(&new, 2);
        let held = connect(&[&told]).await.mutex("a").lock().await.unwrap();
        let (from, to) = (format!("127.0.0.1 {}", old.port()), format!("127.0.0.1 {}", new.port()));
        match is_over {
            true => told.announce("+switch-master", &format!("store {from} {to}")),
            false => told.announce("+failover-state-reconf-slaves", &format!("master store {from}")),
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        let second = client.mutex("a").try_lock().await.unwrap();
        demand(second.is_none(), Kind::Overlap, "the lock is held on the new master");
        held.check().unwrap();
        let clients = || old.command(&["CLIENT", "LIST", "TYPE", "normal"]);
        eventually("nobody is connected any more", || !clients().contains("name=cotter")).await;
    }
}

/// Of another service, or of what is known.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn other_announcements_cost_nobody_the_connection() {
    let (master, other) = (server(), server());
    let told = Told::to_say(&master, 1);
    let client = connect(&[&told]).await;
    eventually("it listens", || told.listeners() > 0).await;
    let connected = || master.command(&["CLIENT", "LIST", "TYPE", "normal"]).matches("name=cotter").count();
    let id = || {
        let list = master.command(&["CLIENT", "LIST", "TYPE", "normal"]);
        list.lines()
            .find(|line| line.contains("name=cotter"))
            .and_then(|line| line.split(' ').next())
            .map(str::to_owned)
    };
    let before = id();
    let (here, there) = (format!("127.0.0.1 {}", master.port()), format!("127.0.0.1 {}", other.port()));
    told.announce("+switch-master", &format!("orders {here} {there}"));
    told.announce("+switch-master", &format!("store {there} {here}"));
    told.announce("+failover-state-reconf-slaves", &format!("master orders {here}"));
    told.announce("+failover-state-reconf-slaves", &format!("master store {there}"));
    told.announce("+switch-master", "store");
    tokio::time::sleep(Duration::from_millis(300)).await;
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    assert!(connected() == 1 && id() == before, "it has connected anew");
}

/// One connection of a client listens to one sentinel at a time, and asks the others when it has to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn another_sentinel_is_listened_to_when_one_goes() {
    let master = server();
    let told = [Told::to_say(&master, 1), Told::to_say(&master, 1)];
    let client = connect(&[&told[0], &told[1]]).await;
    for (now, next) in [(0, 1), (1, 0)] {
        eventually("it listens to one", || told[now].listeners() > 0).await;
        // The end of a connection is counted by whoever served it, which may come a little later.
        eventually("it listens to no other one", || told[next].listeners() == 0).await;
        told[now].hang_up();
        eventually("it listens to the other", || told[next].listeners() > 0).await;
    }
    eventually("nobody asks any more", || told[0].connections() == 1 && told[1].connections() == 0).await;
    client.close(TTL).await.unwrap();
    drop(client);
    eventually("nothing is left of it", || told[0].connections() == 0).await;
}

/// A sentinel may name a server before it is the master, or when it is not any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_server_that_is_not_the_master_is_not_taken_for_it() {
    let (master, replica) = (server(), server());
    replica.follow(&master);
    let told = Told::to_say(&replica, 1);
    let sentinels = [&told];
    let locking = async { connect(&sentinels).await.mutex("a").try_lock().await };
    let promoting = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        replica.promote();
    };
    let (locked, ()) = tokio::join!(locking, promoting);
    demand(
        locked.is_ok_and(|guard| guard.is_some()),
        Kind::IdleWaiter,
        "it was the master when it was found",
    );
}

/// A master that becomes a replica refuses writes. It is left with everything, and the sentinels are asked anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_demoted_master_is_left_with_its_subscription() {
    let (old, new) = (server(), server());
    new.follow(&old);
    let told = Told::to_say(&old, 1);
    let (holder, client) = (connect(&[&told]).await, connect(&[&told]).await);
    let held = holder.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(client.mutex("a").lock());
    let channels = |of: &Redis| of.command(&["PUBSUB", "CHANNELS", "cotter:wake:*"]);
    eventually("it waits, subscribed", || channels(&old).contains("wake")).await;
    eventually("its place is on the replica", || new.command(&["ZCARD", "cotter:{a}:q"]) == "1").await;
    new.promote();
    old.follow(&new);
    told.say(&new, 2);
    // The first request that the old one refuses.
    let refused = happens("it is noticed", async { while client.mutex("b").try_lock().await.is_ok() {} });
    refused.await;
    let start = Stopwatch::of(Kind::TooSlow);
    eventually("nobody listens to the old one", || channels(&old).is_empty()).await;
    start.at_most(TTL / 8, "the subscription is given up with the connection");
    eventually("it listens to the new one", || channels(&new).contains("wake")).await;
    held.finish().await.unwrap();
    happens("it is served", waiting).await.unwrap().unwrap().finish().await.unwrap();
}

/// Two services under one name: each of the two servers would grant what the other has granted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn sentinels_that_watch_different_servers_are_an_error() {
    let (one, other) = (server(), server());
    let told = [Told::to_say(&one, 0), Told::to_say(&other, 0)];
    let url = format!("redis+sentinel://127.0.0.1:{},127.0.0.1:{}/store", told[0].port, told[1].port);
    let error = Client::connect(url).await.expect_err("violation[overlap]: each of them grants the lock");
    let said = error.to_string();
    for server in [&one, &other] {
        assert!(said.contains(&format!("127.0.0.1:{}", server.port())), "{said}");
    }
}

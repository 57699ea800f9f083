//! Nodes that announce addresses at which they are not reached from here.

use super::refusals::{alone, as_cluster, refusal};
use super::{PATIENT, SILENCE, TTL, replaced};
use crate::redis::setup::{hand_over, locked_again, queued};
use cotter::{Client, ErrorKind, Lease};
use cotter_testkit::servers::{Proxy, Redis, RedisCluster};
use cotter_testkit::timing::eventually;

/// By one of its nodes, with these pairs for what the nodes announce.
async fn connect(cluster: &RedisCluster, announce: &str) -> Client {
    let first = format!("127.0.0.1:{}", cluster.port(0));
    let url = cluster.url(&format!("connect_timeout=1s&{announce}")).replace(&cluster.addresses(), &first);
    Client::builder().lease(Lease::renewed(TTL / 3)).local_turns(false).connect(url).await.unwrap()
}

/// Each host leads to this one, with the port as it is announced.
fn here(cluster: &RedisCluster) -> String {
    let each: Vec<_> =
        (0..6).map(|node| format!("announce={}=127.0.0.1", cluster.announced_name(node))).collect();
    each.join("&")
}

/// Each port is mapped to another one, as containers do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn each_node_is_connected_to_where_the_url_says() {
    let cluster = RedisCluster::start(PATIENT);
    cluster.announce_names();
    let ways: Vec<_> = (0..3).map(|node| Proxy::start(cluster.port(node))).collect();
    let pair = |(node, way): (usize, &Proxy)| {
        format!("{}:{}=127.0.0.1:{}", cluster.announced_name(node), cluster.port(node), way.port())
    };
    let pairs: Vec<_> = ways.iter().enumerate().map(pair).collect();
    let announce = format!("announce={}", pairs.join(","));
    let (one, other) = (connect(&cluster, &announce).await, connect(&cluster, &announce).await);
    // Of three slots on three masters.
    for name in ["a", "b", "e"] {
        let held = one.mutex(name).lock().await.unwrap();
        let waiting = tokio::spawn(other.mutex(name).lock());
        let master = cluster.master_of(cluster.slot(name), 0);
        eventually("it waits", || queued(&cluster.nodes[master], name) == 1).await;
        hand_over(held, waiting, TTL / 6).await.finish().await.unwrap();
        assert!(ways[master].connections() > 1, "somebody has gone past the way that the URL says");
    }
}

/// What a node says of a slot that moves, or has moved, is an announced address too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_name_is_followed_where_the_url_says() {
    let cluster = RedisCluster::start(PATIENT);
    cluster.announce_names();
    let client = connect(&cluster, &here(&cluster)).await;
    let held = client.mutex("a").lock().await.unwrap();
    let slot = cluster.slot("a");
    let from = cluster.master_of(slot, 0);
    let to = (from + 1) % 3;
    cluster.begin_move(slot, from, to);
    while cluster.move_keys(slot, from, to, 1) > 0 {}
    // Its lease would be over.
    tokio::time::sleep(TTL / 2).await;
    held.check().expect("violation[needless-loss]: it is renewed where it is");
    cluster.end_move(slot, from, to);
    held.finish().await.unwrap();
    locked_again(&client.mutex("a")).await.finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_new_master_is_found_where_the_url_says() {
    let cluster = RedisCluster::start(SILENCE);
    cluster.announce_names();
    let client = connect(&cluster, &here(&cluster)).await;
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    let slot = cluster.slot("a");
    let old = cluster.master_of(slot, 0);
    cluster.fail_over(old + 3);
    replaced(&cluster, slot, old).await;
    locked_again(&client.mutex("a")).await.finish().await.unwrap();
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn an_announced_address_that_leads_nowhere_is_named_with_what_to_write() {
    let mut node = alone(Redis::builder()).await;
    assert_eq!(node.command(&["CONFIG", "SET", "cluster-announce-port", "1"]), "OK");
    let slots = || node.command(&["CLUSTER", "SLOTS"]);
    eventually("it is announced", || slots().lines().any(|line| line == "1")).await;
    let lock = async |options: &str| {
        let client = Client::connect(as_cluster(&node) + "connect_timeout=500ms&" + options).await.unwrap();
        let error = client.mutex("a").try_lock().await.expect_err("nobody listens there").to_string();
        let found = client.admin().diagnose().await.unwrap();
        let found = found.iter().find(|finding| finding.message.contains("it cannot be asked"));
        for said in [&error, &found.expect("doctor says so").message] {
            assert!(said.contains("write announce=127.0.0.1:1=HOST:PORT in the URL"), "{said}");
        }
        error
    };
    let error = lock("").await;
    assert!(error.contains("redis at 127.0.0.1:1, the master of slot 15495: "), "{error}");
    let error = lock("announce=127.0.0.1:1=127.0.0.1:2").await;
    assert!(error.contains("announce= in the URL has 127.0.0.1:2 for 127.0.0.1:1"), "{error}");
    let url = format!("{}announce=127.0.0.1:1=localhost:{}", as_cluster(&node), node.port());
    let client = Client::connect(url).await.unwrap();
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    node.kill();
    let error = client.mutex("a").try_lock().await.expect_err("nobody is there any more");
    assert!(!error.to_string().contains("announce="), "it was there before: {error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn nodes_that_are_connected_to_at_one_address_are_told_of() {
    let cluster = RedisCluster::start(PATIENT);
    cluster.announce_names();
    let at_first = |node| {
        let (name, port) = (cluster.announced_name(node), cluster.port(node));
        format!("announce={name}:{port}=127.0.0.1:{}", cluster.port(0))
    };
    let client = connect(&cluster, &[0, 1, 2].map(at_first).join("&")).await;
    let elsewhere = ["a", "b", "e"].into_iter().find(|name| cluster.master_of(cluster.slot(name), 0) != 0);
    let error = client.mutex(elsewhere.unwrap()).try_lock().await.expect_err("it is not there");
    assert!(
        error.kind() == ErrorKind::Unavailable && error.to_string().contains("an address each"),
        "{error}"
    );
    let wrong = refusal(&cluster.url("announce=127.0.0.1:1")).await;
    assert!(wrong.kind() == ErrorKind::Config && wrong.to_string().contains("FROM=TO"), "{wrong}");
}

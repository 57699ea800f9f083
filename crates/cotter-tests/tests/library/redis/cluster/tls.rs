//! `rediss+cluster://`, with certificates made for the test.

use super::refusals::{alone, as_cluster};
use super::{SILENCE, TTL, connect, replaced};
use crate::authority::{Authority, TRUST_IT, is_not_trusted, speaks_otherwise};
use crate::redis::setup::{hand_over, locked_again, queued};
use cotter::{Client, ErrorKind};
use cotter_testkit::servers::{Redis, RedisCluster};
use cotter_testkit::timing::eventually;

/// The nodes speak TLS among each other as well, so that each announces its port for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn all_nodes_are_reached_through_tls() {
    let authority = Authority::new();
    let (files, ca) = (authority.signs("127.0.0.1"), authority.file("ca.pem"));
    let cluster = RedisCluster::builder(SILENCE).tls(&files, &ca).start();
    let options = authority.ca();
    let (one, other) = (connect(&cluster, TTL, &options).await, connect(&cluster, TTL, &options).await);
    // Of three slots on three masters.
    for name in ["a", "b", "e"] {
        let held = one.mutex(name).lock().await.unwrap();
        let waiting = tokio::spawn(other.mutex(name).lock());
        let node = cluster.master_of(cluster.slot(name), 0);
        eventually("it waits", || queued(&cluster.nodes[node], name) == 1).await;
        hand_over(held, waiting, TTL / 6).await.finish().await.unwrap();
        let clients = cluster.nodes[node].command(&["CLIENT", "LIST"]);
        let own: Vec<_> = clients.lines().filter(|line| line.contains("user=cotter ")).collect();
        let secure = format!("laddr=127.0.0.1:{}", cluster.port(node));
        assert!(!own.is_empty() && own.iter().all(|line| line.contains(&secure)), "{own:?}");
    }

    let slot = cluster.slot("a");
    let from = cluster.master_of(slot, 0);
    let to = (from + 1) % 3;
    cluster.move_slot(slot, from, to);
    let held = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(other.mutex("a").lock());
    eventually("it waits where the slot is", || queued(&cluster.nodes[to], "a") == 1).await;
    let replica = to + 3;
    eventually("the replica has it", || cluster.nodes[replica].command(&["DBSIZE"]) != "0").await;
    cluster.fail_over(replica);
    replaced(&cluster, slot, to).await;
    held.check().expect("violation[needless-loss]: the new master has the lock");
    held.finish().await.unwrap();
    waiting.await.unwrap().unwrap().finish().await.unwrap();
    locked_again(&one.mutex("a")).await.finish().await.unwrap();
}

/// A node that announces its address is known by that, unless `announce=` has a name for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn the_certificate_is_that_of_the_address_that_is_connected_to() {
    let authority = Authority::new();
    let (files, ca) = (authority.signs("localhost"), authority.file("ca.pem"));
    let node = alone(Redis::builder().tls(&files, &ca).with("tls-cluster", "yes")).await;
    let port = node.tls_port();
    assert_eq!(node.command(&["CONFIG", "SET", "cluster-announce-ip", "127.0.0.1"]), "OK");
    let slots = || node.command(&["CLUSTER", "SLOTS"]);
    eventually("it is announced", || slots().lines().any(|line| line == "127.0.0.1")).await;
    let url = |options: &str| {
        let (plain, secure) = (format!("127.0.0.1:{}", node.port()), format!("localhost:{port}"));
        as_cluster(&node).replace("redis+", "rediss+").replace(&plain, &secure) + options
    };
    let ca = authority.ca();
    let client = Client::connect(url(&ca)).await.unwrap();
    let error = client.mutex("a").try_lock().await.expect_err("the certificate is for localhost");
    let instead = format!("write announce=127.0.0.1:{port}=NAME:{port}");
    assert!(error.kind() == ErrorKind::Denied && error.to_string().contains(&instead), "{error}");
    let client = Client::connect(url(&format!("{ca}&announce=127.0.0.1=localhost"))).await.unwrap();
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();

    let stranger = Authority::new();
    is_not_trusted(&url(&stranger.ca()), "another authority", TRUST_IT).await;
    let unencrypted = url("").replace("rediss+", "redis+");
    speaks_otherwise(&unencrypted, "rediss+cluster:").await;
    let plain = as_cluster(&node).replace("redis+", "rediss+");
    speaks_otherwise(&format!("{plain}{ca}&connect_timeout=500ms"), "redis+cluster:").await;
    let error =
        Client::connect(url(&ca).replace(":password@", ":another@")).await.expect_err("a wrong password");
    assert!(error.kind() == ErrorKind::Denied && error.to_string().contains("password"), "{error}");
}

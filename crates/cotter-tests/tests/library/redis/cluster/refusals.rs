//! What is wrong with a URL or a cluster, and what is said of it.

use cotter::redis::{Protocol, Store};
use cotter::{Client, Error, ErrorKind};
use cotter_testkit::servers::{Redis, RedisBuilder, Sentinels, acl_rule};
use cotter_testkit::timing::eventually;
use std::time::Duration;

pub(super) async fn refusal(url: &str) -> Error {
    Client::connect(url).await.expect_err("nobody can lock there")
}

/// A cluster of one node.
pub(super) async fn alone(builder: RedisBuilder) -> Redis {
    let node = builder.clustered().start();
    let words = ["ACL", "SETUSER", acl_rule("native")[2], "+cluster|slots", "+cluster|info", "+asking"];
    assert_eq!(node.command(&words), "OK");
    assert_eq!(node.command(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]), "OK");
    eventually("the cluster is complete", || node.command(&["CLUSTER", "INFO"]).contains("cluster_state:ok"))
        .await;
    node
}

pub(super) fn as_cluster(server: &Redis) -> String {
    server.url("").replace("redis:", "redis+cluster:")
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_server_that_is_no_node_is_told_from_one() {
    let server = Redis::start();
    for words in [["+cluster|slots"], ["+cluster|info"]] {
        assert_eq!(server.command(&["ACL", "SETUSER", acl_rule("native")[2], words[0]]), "OK");
    }
    let error = refusal(&as_cluster(&server)).await;
    let url = format!("write redis://127.0.0.1:{}", server.port());
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains(&url), "{error}");

    let sentinels = Sentinels::watching(&server, 0);
    let url = format!("redis+cluster://127.0.0.1:{}", sentinels.ports()[0]);
    let error = refusal(&url).await;
    assert!(error.to_string().contains("redis+sentinel://"), "{error}");
    assert!(!error.is_retryable(), "{error}");
}

#[tokio::test]
async fn redisson_is_refused_however_it_was_chosen() {
    let url = "redis+cluster://127.0.0.1:1";
    let store = Store::from_url(url).unwrap().with_protocol(Protocol::Redisson);
    let later = Client::builder().connect_to(store).await.expect_err("nobody would be woken");
    for error in [later, refusal(&format!("{url}?mode=redisson")).await] {
        assert!(
            error.kind() == ErrorKind::Config && error.to_string().contains("sharded channels"),
            "{error}"
        );
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn what_the_user_may_not_ask_is_named() {
    let node = Redis::builder().clustered().start();
    let error = refusal(&as_cluster(&node)).await;
    assert!(error.kind() == ErrorKind::Denied && error.to_string().contains("+cluster|slots"), "{error}");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn slots_that_nobody_has_are_named() {
    let node = alone(Redis::builder()).await;
    assert_eq!(node.command(&["CLUSTER", "DELSLOTSRANGE", "0", "8191"]), "OK");
    assert_eq!(node.command(&["CONFIG", "SET", "cluster-require-full-coverage", "no"]), "OK");
    let client = Client::connect(as_cluster(&node)).await.unwrap();
    let error = client.mutex("b").try_lock().await.expect_err("slot 3300 is nobody's");
    assert!(error.kind() == ErrorKind::Unavailable && error.to_string().contains("slot 3300"), "{error}");
    assert!(client.mutex("a").try_lock().await.unwrap().is_some(), "the others are there");
    assert_eq!(node.command(&["CLUSTER", "DELSLOTSRANGE", "8192", "16383"]), "OK");
    let error = refusal(&as_cluster(&node)).await;
    assert!(error.to_string().contains("no node of the cluster has any slot yet"), "{error}");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_cluster_is_no_member_of_a_quorum() {
    let node = alone(Redis::builder()).await;
    let store = Store::from_url(as_cluster(&node)).unwrap().with_votes(Duration::from_secs(60));
    let error = Client::builder().connect_to(store).await.expect_err("it has several masters");
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("quorum"), "{error}");
}

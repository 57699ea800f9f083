//! Many holds over slow connections: each is renewed in time.

use cotter::{Client, Guard, Lease};
use cotter_testkit::servers::{Proxy, Redis};
use std::time::Duration;
use tokio::task::JoinSet;

async fn hold(client: &Client, count: usize) -> Vec<Guard> {
    let mut set = JoinSet::new();
    for i in 0..count {
        let lock = client.mutex(format!("held {i}")).lock();
        set.spawn(async move { lock.await.unwrap() });
    }
    set.join_all().await
}

/// The answer to each question takes 10 ms: asked for one after the other, they would last a second and a half.
async fn many_short_leases_over_a_slow_connection(mode: &str) {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let ttl = Duration::from_secs(2);
    let url = proxy.redis_url(mode);
    let client = Client::builder().lease(Lease::renewed(ttl)).connect(url).await.unwrap();
    let guards = hold(&client, 300).await;
    proxy.delay_requests(Duration::from_millis(5));
    proxy.delay_replies(Duration::from_millis(5));
    server.command(&["CONFIG", "RESETSTAT"]);
    tokio::time::sleep(ttl * 3).await;
    let lost = guards.iter().filter(|guard| !guard.is_valid()).count();
    assert_eq!(lost, 0, "of {} locks", guards.len());
    let scripts = server.scripts();
    // Nine renewals of 300 in six seconds, 64 in each.
    assert!(scripts < 300, "{scripts} scripts");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn native_renews_many_over_a_slow_connection() {
    many_short_leases_over_a_slow_connection("").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn plain_renews_many_over_a_slow_connection() {
    many_short_leases_over_a_slow_connection("mode=plain").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn getset_renews_many_over_a_slow_connection() {
    many_short_leases_over_a_slow_connection("mode=getset").await;
}

/// One of those that are renewed together was replaced by something else: the others live on.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn what_became_of_one_key_does_not_matter_to_the_others() {
    let server = Redis::start();
    for mode in ["mode=plain", "mode=getset", "mode=redisson"] {
        let ttl = Duration::from_secs(1);
        let url = server.url(mode);
        let client = Client::builder().lease(Lease::renewed(ttl)).connect(url).await.unwrap();
        let guards = hold(&client, 20).await;
        server.command(&["DEL", "held 7"]);
        match mode {
            "mode=plain" => _ = server.command(&["HSET", "held 7", "a", "b"]),
            "mode=redisson" => _ = server.command(&["SET", "held 7", "a"]),
            _ => {}
        }
        tokio::time::sleep(ttl * 2).await;
        for guard in guards {
            assert_eq!(guard.is_valid(), &**guard.name() != "held 7", "{mode}: {}", guard.name());
        }
        server.command(&["FLUSHALL"]);
    }
}

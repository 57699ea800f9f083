//! Redis with Sentinel. Clients go through a balancer that follows the master, and whose old connections stay where they are.

use crate::players::Players;
use cotter::{Client, Lease};
use cotter_testkit::servers::{Haproxy, Redis, Sentinels, acl_rule};
use cotter_testkit::timing::{Stopwatch, eventually, happens};
use std::time::Duration;

/// Longer than a change of masters, so that the lock is still held when it is over, and shorter than the sentinels take to demote
/// a master that is back: 8 s.
const TTL: Duration = Duration::from_secs(6);
/// With at least one replica that has it, no grant is forgotten: the sentinels choose the replica that has got most. The time limit
/// is longer than a master is away, so that connections stay.
const OPTIONS: &str = "replicas=1&timeout=4s";

fn server() -> Redis {
    let server = Redis::builder().with("repl-diskless-sync-delay", "0").start();
    assert_eq!(server.command(&["ACL", "SETUSER", acl_rule("native")[2], "+wait"]), "OK");
    server
}

async fn connect(haproxy: &Haproxy) -> Client {
    let user = acl_rule("native");
    let password = user.iter().find_map(|word| word.strip_prefix('>')).expect("it has one");
    let url = format!("redis://{}:{password}@127.0.0.1:{}?{OPTIONS}", user[2], haproxy.port());
    Client::builder().lease(Lease::renewed(TTL)).connect(url).await.unwrap()
}

/// Until the balancer knows the new master, and no other; which one it is.
async fn settled(servers: &[Redis], sentinels: &Sentinels, haproxy: &Haproxy) -> usize {
    let place = |port| servers.iter().position(|server| server.port() == port).expect("one of them");
    eventually("there is one master", || haproxy.up() == [place(sentinels.master())]).await;
    place(sentinels.master())
}

/// The master is away for so long that it is replaced, and then back: until the sentinels demote it, there are two masters, and
/// clients with connections to both. Afterwards the sentinels are asked for a change while all are well.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-sentinel and haproxy"]
async fn a_master_that_was_replaced_makes_no_second_holder() {
    let servers = [server(), server(), server()];
    servers[1..].iter().for_each(|replica| replica.follow(&servers[0]));
    let sentinels = Sentinels::watching(&servers[0], 2);
    let haproxy = Haproxy::before_redis(&servers.each_ref().map(Redis::port));
    let first = settled(&servers, &sentinels, &haproxy).await;
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(connect(&haproxy).await);
    }
    let mut players = Players::start(clients);
    players.go_on("all is well", 20).await;

    let holding = players.hold().await;
    servers[first].stop();
    let start = Stopwatch::start();
    eventually("a replica is promoted", || sentinels.master() != servers[first].port()).await;
    // Those who are there keep their connections to the old master; these meet the new one.
    settled(&servers, &sentinels, &haproxy).await;
    for _ in 0..2 {
        players.join(connect(&haproxy).await);
    }
    servers[first].go_on();
    happens("the holder is told", holding).await.expect("it ends in order");
    start.at_most(TTL + Duration::from_secs(1), "the holder is told");
    players.go_on("the lock is held under the new master", 20).await;
    let second = settled(&servers, &sentinels, &haproxy).await;
    assert_ne!(second, first);
    let info = || servers[first].command(&["INFO", "replication"]);
    eventually("the old master follows", || info().contains("master_link_status:up")).await;
    players.go_on("everybody has left the old master", 20).await;
    eventually("nothing is asked there", || !asked(&servers[first])).await;

    assert!(sentinels.fail_over());
    eventually("another one is promoted", || sentinels.master() != servers[second].port()).await;
    settled(&servers, &sentinels, &haproxy).await;
    players.go_on("the lock is held after a change by order", 20).await;
    players.end().await;
}

/// Whether anybody but the replication has a script run there.
fn asked(server: &Redis) -> bool {
    let calls = || server.command(&["INFO", "commandstats"]).lines().filter(|l| l.contains("eval")).count();
    server.command(&["CONFIG", "RESETSTAT"]);
    std::thread::sleep(Duration::from_millis(300));
    calls() > 0
}

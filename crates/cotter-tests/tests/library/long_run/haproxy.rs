//! HAProxy before a PostgreSQL primary and its synchronous standby. The standby is promoted and the balancer switched, while the
//! old primary lives on, and connections to it stay.

use crate::players::Players;
use cotter::{Client, Lease};
use cotter_testkit::servers::{Haproxy, Postgres};
use cotter_testkit::timing::{Stopwatch, eventually, happens};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(6);

async fn connect(haproxy: &Haproxy) -> Client {
    let url = format!("postgres://app:secret@127.0.0.1:{}/cotter", haproxy.port());
    Client::builder().lease(Lease::renewed(TTL)).connect(url).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs haproxy"]
async fn a_primary_that_was_replaced_makes_no_second_holder() {
    let primary = Postgres::start();
    primary.migrate("");
    let standby = Postgres::builder().start_standby_of(&primary);
    // From now on, what is committed is on the standby too.
    primary.sql("alter system set synchronous_standby_names = '*'");
    primary.sql("select pg_reload_conf()");
    eventually("commits wait", || primary.sql("select sync_state from pg_stat_replication") == "sync").await;
    let haproxy = Haproxy::before_postgres(&[&primary, &standby]);
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(connect(&haproxy).await);
    }
    let players = Players::start(clients);
    players.go_on("all is well", 20).await;

    let holding = players.hold().await;
    let start = Stopwatch::start();
    standby.promote();
    haproxy.switch(1, 2);
    happens("the holder is told", holding).await.expect("it ends in order");
    start.at_most(TTL + Duration::from_secs(1), "the holder is told");
    let next = players.go_on("the lock is held on the new primary", 1).await;
    let all = players.go_on("those who waited go on", 20).await;
    let held = standby.sql("select count(*) from cotter_lock where name = 'one'");
    assert_eq!(held, "1", "after {next:?} and {all:?} somebody holds it there");
    players.end().await;
}

//! HAProxy is switched from a primary to its replica, while the old primary lives on, and connections to it stay.

use super::haproxy::through;
use crate::players::Players;
use cotter::LossCause;
use cotter_testkit::servers::{Haproxy, Mariadb, Postgres};
use cotter_testkit::timing::{eventually, happens};
use tokio::sync::oneshot;

fn mariadb() -> (Mariadb, Mariadb, Haproxy) {
    let primary = Mariadb::builder().with_log().start();
    primary.migrate_all();
    let replica = Mariadb::builder().start_replica_of(&primary);
    let haproxy = Haproxy::before_first_of(&[primary.port(), replica.port()]);
    (primary, replica, haproxy)
}

async fn postgres() -> (Postgres, Postgres, Haproxy) {
    let primary = Postgres::start();
    primary.migrate_all();
    let standby = Postgres::builder().start_standby_of(&primary);
    primary.sql("alter system set synchronous_standby_names = '*'");
    primary.sql("select pg_reload_conf()");
    eventually("commits wait", || primary.sql("select sync_state from pg_stat_replication") == "sync").await;
    let haproxy = Haproxy::before_first_of(&[primary.port(), standby.port()]);
    (primary, standby, haproxy)
}

fn url(scheme: &str, haproxy: &Haproxy, options: &str) -> String {
    format!("{scheme}://app:secret@127.0.0.1:{}/cotter?{options}", haproxy.port())
}

/// The second server is promoted, and new connections lead to it.
fn switch(haproxy: &Haproxy, promote: impl FnOnce()) {
    promote();
    haproxy.switch(1, 2);
}

/// `state` is what the new primary has of the lock.
async fn a_replaced_primary_makes_no_second_holder(
    url: &str,
    switch: impl FnOnce(),
    state: impl Fn() -> String,
) {
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(through(url).await);
    }
    let players = Players::start(clients);
    players.go_on("all is well", 20).await;
    let (enough, told) = oneshot::channel();
    let holding = players.hold_until(told).await;
    let copied = state();
    switch();
    // Its renewal waits for the replica in vain. Over a new connection it may come to the new primary, in time or too late.
    eventually("the holder is told, or its lock is renewed there", || {
        holding.is_finished() || state() != copied
    })
    .await;
    let _ = enough.send(());
    happens("the holder ends", holding).await.expect("it ends in order");
    players.go_on("the lock is held on the new primary", 1).await;
    let copied = state();
    players.go_on("those who waited go on", 20).await;
    assert_ne!(state(), copied, "it is held there");
    players.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs haproxy"]
async fn a_replaced_primary_of_postgres_makes_no_second_holder() {
    let (_primary, standby, haproxy) = postgres().await;
    let state = || standby.sql("select last, until from cotter_lock where name = 'one'");
    let switch = || switch(&haproxy, || standby.promote());
    a_replaced_primary_makes_no_second_holder(&url("postgres", &haproxy, ""), switch, state).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs haproxy"]
async fn a_replaced_primary_of_mariadb_makes_no_second_holder() {
    let (_primary, replica, haproxy) = mariadb();
    let state = || replica.sql("SELECT last_token, HEX(state) FROM cotter_locks WHERE name = 'one'");
    let switch = || switch(&haproxy, || replica.promote());
    a_replaced_primary_makes_no_second_holder(&url("mysql", &haproxy, ""), switch, state).await;
}

/// While somebody has a lock by a session on the old primary, another one gets it at the new one: these modes promise no more, and the
/// token tells the two apart. The first one is told when its session ends at the latest.
async fn a_second_holder_has_a_larger_token(url: &str, switch: impl FnOnce(), end: impl FnOnce()) {
    let (one, other) = (through(url).await, through(url).await);
    other.mutex("other").lock().await.unwrap().finish().await.unwrap();
    let first = one.mutex("one").lock().await.unwrap();
    switch();
    let late = through(url).await;
    let second = happens("it is free at the new primary", late.mutex("one").lock()).await.unwrap();
    assert!(second.token() > first.token(), "violation[token-order]: {url}");
    end();
    let lost = happens("the first one is told", first.lost()).await;
    assert_eq!(lost.cause, LossCause::SessionLost, "{url}: {lost}");
    second.finish().await.unwrap();
    // Also whoever was connected before.
    let third = happens("all go on at the new primary", async {
        loop {
            match other.mutex("one").lock().await {
                Ok(guard) => return guard,
                Err(e) => assert!(e.is_retryable(), "{url}: {e}"),
            }
        }
    });
    third.await.finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs haproxy"]
async fn with_sessions_of_postgres_a_second_holder_has_a_larger_token() {
    for mode in ["mode=row", "mode=advisory"] {
        let (mut primary, standby, haproxy) = postgres().await;
        let switch = || switch(&haproxy, || standby.promote());
        a_second_holder_has_a_larger_token(&url("postgres", &haproxy, mode), switch, || primary.kill()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs haproxy"]
async fn with_sessions_of_mariadb_a_second_holder_has_a_larger_token() {
    for mode in ["mode=row", "mode=advisory"] {
        let (mut primary, replica, haproxy) = mariadb();
        let switch = || switch(&haproxy, || replica.promote());
        a_second_holder_has_a_larger_token(&url("mysql", &haproxy, mode), switch, || primary.kill()).await;
    }
}

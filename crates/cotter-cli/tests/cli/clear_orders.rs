//! `cotter demo clear-orders`.

use crate::env::{Output, TestEnv, is_alive};
use crate::plays::{children, kinds, parts, play};
#[cfg(feature = "etcd")]
use cotter_testkit::servers::Etcd;
#[cfg(feature = "mysql")]
use cotter_testkit::servers::Mariadb;
#[cfg(feature = "postgres")]
use cotter_testkit::servers::Postgres;
use cotter_testkit::servers::Redis;
#[cfg(feature = "zookeeper")]
use cotter_testkit::servers::ZooKeeper;
use cotter_testkit::sized;
use cotter_testkit::timing::until;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;

fn clear_orders(env: &TestEnv, url: &str, options: &[&str]) -> Output {
    play(env, url, "clear-orders", options)
}

/// Every order is closed once, each slot by one replica.
#[track_caller]
pub(crate) fn exact(env: &TestEnv, url: &str, options: &[&str]) {
    let options = [&["--slots", "3", "--orders", "4"], options].concat();
    let output = clear_orders(env, url, &options).code(0).silent();
    let (audit, closings) = parts(&output, "closing");
    assert_eq!(
        [&audit["clean"], &audit["closed"], &audit["closings"]],
        [&true.into(), &12.into(), &Value::from(12)]
    );
    let mut orders: Vec<_> = closings.iter().map(|line| line["order"].as_u64().unwrap()).collect();
    orders.sort_unstable();
    assert_eq!(orders, (1..=12).collect::<Vec<_>>());
    let mut closers = BTreeMap::new();
    for line in &closings {
        let by = (
            line["replica"].clone(),
            line["token"].as_str().expect("a token is a string").parse::<u64>().unwrap(),
        );
        let first = closers.entry(line["slot"].to_string()).or_insert_with(|| by.clone());
        assert_eq!(*first, by, "{output:?}");
    }
}

#[test]
fn exact_on_files() {
    let env = TestEnv::new();
    for _ in 0..sized(2, 20) {
        exact(&env, &env.url(), &[]);
    }
    exact(&env, &env.url(), &["--replicas", "5"]);
    exact(&env, "memory:", &["--replicas", "1"]);
}

#[test]
#[ignore = "needs redis-server"]
fn exact_on_redis() {
    let redis = Redis::start();
    let env = TestEnv::new();
    for _ in 0..sized(1, 20) {
        exact(&env, &redis.url(""), &["--replicas", "3"]);
    }
}

#[cfg(feature = "postgres")]
#[test]
#[ignore = "needs postgres"]
fn exact_on_postgres() {
    let server = Postgres::migrated();
    exact(&TestEnv::new(), &server.url(""), &[]);
    let tables = "select count(*) from pg_tables where tablename like 'cotter_demo%'";
    for mode in ["lease", "row", "advisory"] {
        side_by_side(&server.url_of("owner", &format!("mode={mode}")));
        assert_eq!(server.sql(tables), "0");
    }
    // A user that owns nothing.
    let output = clear_orders(&TestEnv::new(), &server.url(""), &["--same-database"]).code(69);
    output.one_line(&["the tables of orders cannot be created", "permission denied"]);
}

#[cfg(feature = "mysql")]
#[test]
#[ignore = "needs mariadbd"]
fn exact_on_mariadb() {
    let server = Mariadb::migrated();
    exact(&TestEnv::new(), &server.url(""), &[]);
    let tables = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name LIKE 'cotter_demo%'";
    for mode in ["lease", "row", "advisory"] {
        side_by_side(&server.url_of("owner", &format!("mode={mode}")));
        assert_eq!(server.sql(tables), "0");
    }
}

#[cfg(feature = "etcd")]
#[test]
#[ignore = "needs etcd"]
fn exact_on_etcd() {
    let server = Etcd::start(1);
    exact(&TestEnv::new(), &server.url(""), &["--replicas", "3"]);
}

#[cfg(feature = "zookeeper")]
#[test]
#[ignore = "needs zookeeper"]
fn exact_on_zookeeper() {
    let server = ZooKeeper::start(1);
    exact(&TestEnv::new(), &server.url(""), &["--replicas", "3"]);
}

#[test]
fn exact_on_sqlite() {
    let env = TestEnv::new();
    let url = format!("sqlite://{}", env.path("locks.db").display());
    TestEnv::on(url.clone()).run(["migrate"]).code(0);
    exact(&env, &url, &[]);
    side_by_side(&url);
}

/// The orders are in the database of the store, and the first holder goes on after another one has closed them all.
#[track_caller]
fn side_by_side(url: &str) {
    let env = TestEnv::new();
    let options = ["--same-database", "--replicas", "3", "--orders", "4"];
    let output = clear_orders(&env, url, &options).code(0).silent();
    let (audit, lines) = parts(&output, "closing");
    assert!(lines.is_empty() && audit["clean"] == true, "{output:?}");
    for (way, closings, refused) in [("nothing", 8, 0), ("fence", 4, 4), ("row_lock", 4, 4)] {
        let due = serde_json::json!({
            "closed": 4, "closings": closings, "refused": refused, "returned": closings
        });
        assert_eq!(audit["ways"][way], due, "{way}: {output:?}");
    }
}

/// All replicas have read the orders of a slot long before the first closes one.
#[test]
fn without_a_lock_items_are_returned_more_than_once() {
    let env = TestEnv::new();
    let options = ["--lock", "off", "--work", "400ms", "--replicas", "3", "--slots", "2"];
    let output = clear_orders(&env, &env.url(), &options).code(1).silent();
    let (audit, closings) = parts(&output, "closing");
    assert_eq!(kinds(&audit), ["closed_twice", "too_much_stock"], "{output:?}");
    assert!(closings.len() > 10 && closings.iter().all(|line| line["token"].is_null()), "{output:?}");
}

#[test]
fn lines_for_people() {
    let env = TestEnv::new();
    let output = env.run(["demo", "clear-orders", "--slots", "1", "--orders", "4"]).code(0).silent();
    let lines: Vec<_> = output.stdout.lines().collect();
    assert_eq!(lines.len(), 5, "{output:?}");
    assert!(lines[0].contains(" closed order 1 for ") && lines[0].contains(" returned, "), "{output:?}");
    let due = "audit: clean: 4 overdue orders closed once by 2 replicas, stock restored once, tokens increasing; 2 others untouched";
    assert_eq!(lines[4], due);
}

#[test]
#[ignore = "needs redis-server"]
fn what_makes_no_sense_is_refused_in_one_line() {
    let env = TestEnv::new();
    clear_orders(&env, "memory:", &[]).code(64).one_line(&["--replicas 1"]);
    clear_orders(&env, "redis://127.0.0.1:1", &[]).code(69).one_line(&["cannot be reached"]);
    for every in ["7s", "1m", "500ms", "10"] {
        env.run(["demo", "clear-orders", "--every", every]).code(64);
    }
    let redis = Redis::start();
    clear_orders(&env, &redis.url("mode=plain"), &[]).code(64).one_line(&["note"]);
    clear_orders(&env, &env.url(), &["--same-database"]).code(64).one_line(&["postgres:, mysql: or sqlite:"]);
    clear_orders(&env, &env.url(), &["--same-database", "--replicas", "1"])
        .code(64)
        .one_line(&["--replicas 2"]);
    clear_orders(&env, &env.url(), &["--same-database", "--lock", "off"]).code(64);
}

#[test]
fn a_signal_ends_all_replicas() {
    let env = TestEnv::new();
    for (signal, code) in [(Signal::INT, 130), (Signal::KILL, -9)] {
        let mut demo = env.start(["demo", "clear-orders", "--slots", "50"]);
        demo.line();
        let replicas = children(demo.pid());
        assert_eq!(replicas.len(), 2);
        demo.signal(signal);
        demo.end().code(code).silent();
        until("no replica is left", || !replicas.iter().any(|pid| is_alive(*pid)));
    }
}

//! `cotter demo clear-orders`.

use crate::env::{Output, TestEnv, is_alive, until};
use crate::plays::{children, kinds, parts, play};
use cotter_testkit::servers::Redis;
use cotter_testkit::sized;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;

fn clear_orders(env: &TestEnv, url: &str, options: &[&str]) -> Output {
    play(env, url, "clear-orders", options)
}

/// Every order is closed once, each slot by one replica.
#[track_caller]
fn exact(env: &TestEnv, url: &str, options: &[&str]) {
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

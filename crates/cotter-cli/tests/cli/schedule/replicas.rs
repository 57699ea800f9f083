//! Several that run the same file, and are killed.

use super::event;
use crate::env::TestEnv;
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::until;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs;

#[test]
fn every_slot_is_run_by_one_of_them_whoever_is_killed() {
    let env = TestEnv::new();
    let url = env.url();
    every_slot_once(&env, &url);
}

#[test]
#[ignore = "needs redis-server"]
fn the_same_on_a_redis() {
    let redis = Redis::start();
    every_slot_once(&TestEnv::new(), &redis.url(""));
}

fn every_slot_once(env: &TestEnv, url: &str) {
    let log = env.path("log");
    let text = format!(
        "[job.a]\nfixed_rate = \"100ms\"\nmisfire = \"all\"\nttl = \"1s\"\nshell = \"echo $COTTER_SLOT $COTTER_TOKEN >> {}\"\n",
        log.display()
    );
    let path = env.jobs(&text);
    let start = || {
        let mut replica = env.start(["--json", "--url", url, "schedule", path.to_str().unwrap()]);
        // From now on it hears signals.
        event(&mut replica, "remark");
        replica
    };
    let lines = || fs::read_to_string(&log).unwrap_or_default().lines().count();
    let mut replicas: Vec<_> = (0..3).map(|_| start()).collect();
    for round in 0..6 {
        let before = lines();
        until("slots are run", || lines() >= before + 4);
        replicas[round % 3].signal(Signal::KILL);
        replicas[round % 3] = start();
    }
    for replica in replicas {
        replica.signal(Signal::TERM);
        replica.end().code(0);
    }
    let text = fs::read_to_string(&log).unwrap();
    let slots: Vec<&str> = text.lines().map(|line| line.split_once(' ').unwrap().0).collect();
    let once: BTreeSet<_> = slots.iter().collect();
    assert_eq!(once.len(), slots.len(), "a slot was run twice:\n{text}");
    let tokens: Vec<u64> =
        text.lines().map(|line| line.split_once(' ').unwrap().1.parse().unwrap()).collect();
    assert!(tokens.is_sorted_by(|a, b| a < b), "each run has a larger token:\n{text}");
}

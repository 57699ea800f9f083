//! Several that run the same file, and are killed.

use super::metrics::{AT, address, get, value};
use super::{event, printed};
use crate::env::TestEnv;
use cotter_testkit::servers::{Redis, RedisCluster};
use cotter_testkit::timing::until;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

/// No master is replaced, however busy the machine is.
const PATIENT: Duration = Duration::from_secs(15);

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

#[test]
#[ignore = "needs redis-server"]
fn the_same_on_a_cluster() {
    let cluster = RedisCluster::start(PATIENT);
    every_slot_once(&TestEnv::new(), &cluster.url(""));
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

#[test]
fn a_host_with_another_file_says_why_it_stands_by_and_is_listed_and_counted() {
    let env = TestEnv::new();
    let text = "[job.a]\nfixed_rate = \"100ms\"\nshell = \"echo a\"\n";
    let mut old = env.schedule(text);
    printed(&mut old);
    let path = env.jobs(
        &format!("{text}timezone = \"Europe/Berlin\"\n")
            .replace("fixed_rate = \"100ms\"", "cron = \"* * * * * ?\""),
    );
    let mut new = env.start([&["--json", "schedule", path.to_str().unwrap()][..], &AT].concat());
    let at = address(&mut new);
    let why = event(&mut old, "standby")["message"].as_str().unwrap().to_owned();
    let trigger = "its trigger is \"cron * * * * * ? in Europe/Berlin\", here \"fixed rate 100ms\"";
    assert!(why.contains(trigger) && why.contains("raise its generation from 1 to 2"), "{why}");
    assert!(why.starts_with("host \"") && why.contains(" wrote another definition at 2"), "{why}");
    let list = |json: &[&str]| env.run([json, &["jobs", "--group", "g", "list"]].concat()).code(0).silent();
    until("it is listed", || list(&[]).stdout.contains(" stands by "));
    let listed = list(&["--json"]).json().remove(0);
    let standby = &listed["standby"][0];
    assert!(
        standby["host"].is_string() && standby["since"].is_string() && standby["seen"].is_string(),
        "{listed}"
    );
    let sample = "cotter_job_standing_by{group=\"g\",job=\"a\"}";
    until("it is counted", || value(&get(&at, "/metrics"), sample) == Some(1.0));
    for run in [old, new] {
        run.signal(Signal::TERM);
        run.end().code(0);
    }
}

//! `cotter jobs add-once`, `pending` and `cancel`.

use super::{event, printed};
use crate::env::TestEnv;
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::until;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs;

const JOB: &str = "[job.a]\non_demand = true\nshell = \"echo $COTTER_ONE_SHOT order=$COTTER_ARG_ORDER\"\n";

#[test]
fn runs_are_added_listed_and_cancelled() {
    let env = TestEnv::new();
    let mut run = env.schedule(JOB);
    let jobs = |words: &[&str]| env.run([&["jobs", "--group", "g"], words].concat());
    until("it is known", || !jobs(&["list"]).stdout.is_empty());
    let list = jobs(&["list", "--wide"]).code(0).stdout;
    assert!(list.lines().nth(1).unwrap().ends_with("on demand"), "{list}");
    let later = jobs(&["add-once", "a", "--at", "2098-01-01T00:00:00Z", "ORDER=1"]).code(0).silent().stdout;
    let later = later.trim();
    jobs(&["add-once", "a", "--after", "10ms", "--id", "order-17", "ORDER=17"]).code(0).silent();
    assert_eq!(printed(&mut run), "order-17 order=17");
    event(&mut run, "ended");
    until("it is over", || jobs(&["pending"]).stdout.lines().count() == 2);
    let table = jobs(&["pending"]).code(0).silent().stdout;
    assert!(
        table.lines().nth(1).unwrap().starts_with(later) && table.contains("2098-01-01T00:00:00Z"),
        "{table}"
    );
    let object = &env.run(["--json", "jobs", "--group", "g", "pending"]).code(0).json()[0];
    assert_eq!(
        (&object["id"], &object["started"], &object["arguments"]["ORDER"]),
        (&later.into(), &false.into(), &"1".into())
    );
    jobs(&["cancel", later]).code(0).silent();
    assert_eq!(jobs(&["pending"]).code(0).stdout, "");
    jobs(&["cancel", later]).code(75).one_line(&["no run with the id", "cancelled"]);
    jobs(&["add-once", "a"]).code(64);
    jobs(&["add-once", "a", "--after", "1s", "--at", "2098-01-01T00:00:00Z"]).code(64);
    jobs(&["add-once", "a", "--at", "2098-01-01T00:00:00"]).code(64).one_line(&["--at"]);
    jobs(&["add-once", "b", "--after", "1s"]).code(64).one_line(&["has no job \"b\""]);
    let history = env.run(["--json", "jobs", "--group", "g", "history", "a"]).code(0).json();
    assert_eq!((history.len(), &history[0]["id"]), (1, &"order-17".into()));
    assert!(jobs(&["history", "a"]).stdout.contains("(order-17)"));
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn wrong_requests_are_64_and_too_many_are_75() {
    let env = TestEnv::new();
    let end = env.path("end");
    let shell = format!("until test -e {}; do sleep 0.05; done", end.display());
    let run = env.schedule(&format!("[job.a]\non_demand = true\nshell = \"{shell}\"\n"));
    let jobs = |words: &[&str]| env.run([&["jobs", "--group", "g"], words].concat());
    until("it is known", || !jobs(&["list"]).stdout.is_empty());
    let long = format!("A={}", "x".repeat(2000));
    for (words, says) in [
        (&["trigger", "a", &long][..], "too long"),
        (&["trigger", "a", "A=1", "A=2"], "occurs twice"),
        (&["add-once", "a", "--after", "1h", &long], "too long"),
        (&["add-once", "a", "--after", "1h", "--id", &long], "the id"),
        (&["add-once", "a", "--after", "1h", "--id", ""], "the id"),
        (&["add-once", "a", "--at", "1969-01-01T00:00:00Z"], "out of range"),
    ] {
        jobs(words).code(64).one_line(&[says]);
    }
    jobs(&["trigger", "a"]).code(0);
    until("it runs", || env.run(["show", "--quiet", "g/a"]).code == 0);
    jobs(&["forget", "a"]).code(75).one_line(&["try again later"]);
    for _ in 0..16 {
        jobs(&["trigger", "a", "A=1"]).code(0);
    }
    jobs(&["trigger", "a", "A=1"]).code(75).one_line(&["too many requests"]);
    run.signal(Signal::TERM);
    fs::write(end, "").unwrap();
    run.end().code(0);
}

#[test]
fn each_runs_once_whoever_is_killed() {
    let env = TestEnv::new();
    let url = env.url();
    each_once(&env, &url);
}

#[test]
#[ignore = "needs redis-server"]
fn the_same_on_a_redis_and_after_it_has_lost_its_data() {
    let redis = Redis::start();
    let env = TestEnv::new();
    each_once(&env, &redis.url(""));
    let url = redis.url("");
    let jobs = |words: &[&str]| env.run([&["--url", &url, "jobs", "--group", "g"], words].concat());
    let mut run = env.start(["--json", "--url", &url, "schedule", env.jobs(JOB).to_str().unwrap()]);
    event(&mut run, "remark");
    until("it is known", || jobs(&["add-once", "a", "--after", "1h", "--id", "lost"]).code == 0);
    redis.command(&["FLUSHALL"]);
    assert_eq!(jobs(&["pending"]).code(0).stdout, "");
    // A scheduler that starts, or a minute, makes the job known again.
    run.signal(Signal::TERM);
    run.end().code(0);
    let mut run = env.start(["--json", "--url", &url, "schedule", env.path("jobs.toml").to_str().unwrap()]);
    event(&mut run, "remark");
    until("it is known", || jobs(&["add-once", "a", "--after", "10ms", "--id", "found"]).code == 0);
    assert_eq!(printed(&mut run), "found order=");
    run.signal(Signal::TERM);
    run.end().code(0);
}

fn each_once(env: &TestEnv, url: &str) {
    const RUNS: usize = 24;
    let log = env.path("log");
    let text = format!(
        "[job.a]\non_demand = true\non_crash = \"rerun\"\nttl = \"1s\"\nshell = \"echo $COTTER_ONE_SHOT $COTTER_ATTEMPT >> {}; sleep 0.05\"\n",
        log.display()
    );
    let path = env.jobs(&text);
    let start = || {
        let mut replica = env.start(["--json", "--url", url, "schedule", path.to_str().unwrap()]);
        event(&mut replica, "remark");
        replica
    };
    let jobs = |words: &[&str]| env.run([&["--url", url, "jobs", "--group", "g"], words].concat());
    let lines = || fs::read_to_string(&log).unwrap_or_default().lines().count();
    let mut replicas: Vec<_> = (0..2).map(|_| start()).collect();
    until("it is known", || !jobs(&["list"]).stdout.is_empty());
    for number in 0..RUNS {
        jobs(&["add-once", "a", "--after", "10ms", "--id", &format!("run-{number}")]).code(0);
        if number % 6 == 5 {
            let before = lines();
            until("some have run", || lines() > before || lines() > number);
            replicas[number / 6 % 2].signal(Signal::KILL);
            replicas[number / 6 % 2] = start();
        }
    }
    until("all have run", || jobs(&["pending"]).stdout.is_empty());
    for replica in replicas {
        replica.signal(Signal::TERM);
        replica.end().code(0);
    }
    let text = fs::read_to_string(&log).unwrap();
    let started: BTreeSet<&str> = text.lines().collect();
    assert_eq!(started.len(), text.lines().count(), "an attempt was made twice:\n{text}");
    let ids: BTreeSet<&str> = text.lines().map(|line| line.split_once(' ').unwrap().0).collect();
    assert_eq!(ids.len(), RUNS, "one was lost:\n{text}");
}

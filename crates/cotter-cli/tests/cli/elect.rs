//! Commands that run while leading, and what those who follow are told.

use crate::env::{Running, TestEnv, is_alive};
use cotter_testkit::servers::Redis;
use rustix::process::Signal;
use serde_json::Value;

/// Says its token, and leads until it is told to stop.
const LEAD: &str = "echo $COTTER_TOKEN; echo $$; exec sleep 600";

fn candidate(env: &TestEnv, url: &str, options: &[&str], address: &str) -> Running {
    let head = ["--url", url, "elect", "--announce", address];
    env.start([&head, options, &["a", "--", "sh", "-c", LEAD]].concat())
}

/// The token and the announcement of the next leader that has announced something.
#[track_caller]
fn announced(follower: &mut Running) -> (u64, String) {
    loop {
        let line: Value = serde_json::from_str(&follower.line()).unwrap();
        let leader = &line["leader"];
        if let Some(announcement) = leader["announcement"].as_str() {
            return (leader["token"].as_str().unwrap().parse().unwrap(), announcement.to_owned());
        }
    }
}

pub(crate) fn the_next_leads_after_a_kill(env: &TestEnv, url: &str) {
    let mut follower = env.start(["--url", url, "--json", "elect", "--observe", "a"]);
    assert_eq!(follower.line(), r#"{"leader":null,"name":"a"}"#);
    let ttl = ["-v", "--ttl", "2s"];
    let mut first = candidate(env, url, &ttl, "one");
    let older: u64 = first.line().parse().unwrap();
    let command = first.ward();
    assert_eq!(announced(&mut follower), (older, "one".to_owned()));
    let mut second = candidate(env, url, &ttl, "two");
    second.waiting_line();
    first.signal(Signal::KILL);
    let newer: u64 = second.line().parse().unwrap();
    second.ward();
    assert!(newer > older);
    assert_eq!(
        announced(&mut follower),
        (newer, "two".to_owned()),
        "violation[dead-leader]: the one that was killed"
    );
    assert!(!is_alive(command), "nothing of the first leader outlives its leadership");
    second.signal(Signal::TERM);
    second.end().code(128 + 15);
    let rest: Value = serde_json::from_str(&follower.line()).unwrap();
    assert_eq!(rest["leader"], Value::Null);
    follower.signal(Signal::TERM);
    follower.end();
}

#[test]
fn the_next_candidate_leads_when_the_leader_is_killed() {
    let env = TestEnv::new();
    the_next_leads_after_a_kill(&env, &env.url());
}

#[test]
#[ignore = "needs redis-server"]
fn the_next_candidate_leads_when_the_leader_is_killed_on_redis() {
    let (env, redis) = (TestEnv::new(), Redis::start());
    the_next_leads_after_a_kill(&env, &redis.url(""));
}

#[test]
fn the_command_ends_the_term_with_its_own_code() {
    let env = TestEnv::new();
    let output = env.run(["elect", "a", "--", "sh", "-c", "echo $COTTER_NAME; exit 3"]).code(3).silent();
    assert_eq!(output.stdout, "a\n");
    env.run(["elect", "-n", "a", "true"]).code(0);
    let (holder, _) = env.hold(&[], "a");
    env.run(["elect", "-n", "a", "true"]).code(75).one_line(&["a is held by "]);
    env.run(["elect", "--wait", "50ms", "-E", "9", "a", "true"]).code(9);
    holder.let_go().code(0);
    env.run(["elect", "a"]).code(64);
    env.run(["elect", "--observe", "a", "true"]).code(64);
    env.run(["--json", "elect", "a", "true"]).code(64).one_line(&["--json", "cotter elect"]);
    let flock = format!("flock:{}", env.path("lock").display());
    env.run(["--url", &flock, "elect", "a", "true"]).code(64);
}

#[test]
#[ignore = "needs redis-server"]
fn a_leader_that_loses_ends_or_campaigns_again() {
    let (env, redis) = (TestEnv::new(), Redis::start());
    let url = redis.url("");
    for options in [&[][..], &["--again"]] {
        let mut leader = candidate(&env, &url, &[options, &["--ttl", "2s"]].concat(), "one");
        let older: u64 = leader.line().parse().unwrap();
        let command = leader.ward();
        env.run(["--url", &url, "evict", "--now", "a"]).code(0);
        if options.is_empty() {
            leader.end().code(74).one_line(&["\"a\"", "evicted", "the command was stopped"]);
        } else {
            let newer: u64 = leader.line().parse().unwrap();
            assert!(newer > older);
            assert!(!is_alive(command));
            leader.ward();
            assert!(leader.error_line().ends_with("campaigning again"));
            leader.signal(Signal::TERM);
            leader.end().code(128 + 15);
        }
    }
}

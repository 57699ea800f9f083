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

/// As [`LEAD`], but says first if the leader before it is still there. The path of the file with its process comes first.
const LEAD_ALONE: &str = "if grep -qs '^State:.[RSDT]' /proc/$(cat $0)/status; then echo overlap; exit; fi; \
    echo $$ > $0; echo $COTTER_TOKEN; echo $$; exec sleep 600";

/// Five candidates, whose leader is killed again and again and comes back as a new candidate: one leads at a time, tokens
/// rise, and the follower is told of each leader by its own announcement.
fn one_of_five_leads(env: &TestEnv, url: &str, kills: usize) {
    let mut follower = env.start(["--url", url, "--json", "elect", "--observe", "a"]);
    let leader = env.path("leader").display().to_string();
    let candidate = |address: &str| {
        let head = ["--url", url, "elect", "--ttl", "1s", "--announce", address, "a"];
        env.start([&head[..], &["--", "sh", "-c", LEAD_ALONE, &leader]].concat())
    };
    let mut candidates: Vec<(String, Running)> = Vec::new();
    for number in 0..5 {
        let address = format!("candidate {number}");
        candidates.push((address.clone(), candidate(&address)));
    }
    let mut older = 0;
    for killed in 0..kills {
        let (newer, address) = announced(&mut follower);
        assert!(newer > older, "violation[token-not-rising]: {newer} after {older}");
        let at = candidates.iter().position(|(known, _)| *known == address);
        let at = at.unwrap_or_else(|| panic!("violation[dead-leader]: {address} was killed"));
        let (_, mut leading) = candidates.remove(at);
        assert_eq!(leading.line(), newer.to_string(), "violation[overlap]: {address} does not lead alone");
        leading.ward();
        leading.signal(Signal::KILL);
        // The observer may still be told of it, as long as its lease lasts; a new candidate has another address.
        let address = format!("candidate {}", killed + 5);
        candidates.push((address.clone(), candidate(&address)));
        older = newer;
    }
}

#[test]
fn one_of_five_candidates_leads_however_many_are_killed() {
    let env = TestEnv::new();
    one_of_five_leads(&env, &env.url(), 50);
}

#[test]
#[ignore = "needs redis-server"]
fn one_of_five_candidates_leads_however_many_are_killed_on_redis() {
    let (env, redis) = (TestEnv::new(), Redis::start());
    one_of_five_leads(&env, &redis.url(""), 12);
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

/// The command of the first term takes its time to stop.
#[test]
fn a_signal_at_the_end_of_a_term_prevents_the_next() {
    let env = TestEnv::new();
    let script = "trap 'echo stopping; sleep 0.4; exit' TERM; echo leading; while :; do sleep 0.05; done";
    let mut leader = env.start(["elect", "--again", "a", "--", "sh", "-c", script]);
    assert_eq!(leader.line(), "leading");
    std::fs::remove_file(env.path("locks/a.lock")).unwrap();
    assert_eq!(leader.line(), "stopping");
    leader.signal(Signal::TERM);
    let output = leader.end().code(128 + 15);
    assert_eq!(output.stdout, "leading\nstopping\n", "violation[swallowed]: it leads again");
}

#[test]
#[ignore = "needs redis-server"]
fn an_announcement_that_is_too_long_leaves_no_leader() {
    let redis = Redis::start();
    let env = TestEnv::on(redis.url(""));
    env.run(["elect", "--announce", &"x".repeat(70_000), "a", "true"])
        .code(64)
        .one_line(&["65472 are allowed"]);
    env.run(["run", "-n", "a", "true"]).code(0).silent();
}

#[test]
#[ignore = "needs redis-server"]
fn an_outage_between_two_terms_is_reported_once() {
    let (env, mut redis) = (TestEnv::new(), Redis::start());
    let mut leader = candidate(&env, &redis.url(""), &["--again", "--ttl", "1s"], "one");
    leader.line();
    leader.ward();
    redis.kill();
    while !leader.error_line().starts_with("cotter: redis at ") {
        // The end of the first term.
    }
    std::thread::sleep(std::time::Duration::from_secs(3));
    redis.restart();
    leader.line();
    leader.ward();
    leader.signal(Signal::TERM);
    let output = leader.end().code(128 + 15);
    assert!(output.stderr.matches("campaigning again").count() <= 2, "{output:?}");
}

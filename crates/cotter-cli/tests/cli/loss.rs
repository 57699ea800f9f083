//! A lock that is lost while the command runs.

use crate::env::{Running, TestEnv, is_alive};
use cotter_testkit::servers::{Proxy, Redis};
use cotter_testkit::timing::{Stopwatch, until};
use rustix::process::Signal;
use std::fs;
use std::time::{Duration, Instant};

/// Takes the lock away as an administrator's `rm` would.
fn delete_locks(env: &TestEnv) {
    for entry in fs::read_dir(env.path("locks")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn the_command_is_told_to_stop_and_the_code_says_lost() {
    let env = TestEnv::new();
    let script = "exec 2>&-; trap 'echo told; exit 0' TERM; echo $$; while :; do sleep 0.1; done";
    let mut run = env.start(["run", "a", "--", "sh", "-c", script]);
    let pid = run.ward();
    delete_locks(&env);
    assert_eq!(run.line(), "told");
    let ended = run.end().code(74);
    assert!(!ended.stderr.contains("the store does not know"), "it is a file: {ended:?}");
    let says = ["\"a\"", "token", "not held any more", "was deleted or replaced", "the command was stopped"];
    ended.one_line(&says);
    assert!(!is_alive(pid));
}

#[test]
fn a_command_that_does_not_stop_is_killed_within_a_second() {
    let env = TestEnv::new();
    let script = "trap '' TERM; (trap '' TERM; while :; do sleep 0.1; done) >&- 2>&- & echo $!; echo $$; \
                  while :; do sleep 0.1; done";
    let mut run = env.start(["run", "a", "--", "sh", "-c", script]);
    let (child, grandchild) = (run.ward(), run.ward());
    delete_locks(&env);
    let begin = Stopwatch::start();
    run.end().code(74);
    begin.at_most(Duration::from_secs(4), "the command is killed");
    assert!(!is_alive(child) && !is_alive(grandchild));
}

#[test]
fn while_cotter_is_stopped_the_command_is_stopped_before_the_lease_ends() {
    let env = TestEnv::new();
    let script = "trap 'echo told; exit 0' TERM; echo $$; while :; do sleep 0.1; done";
    let mut run = env.start(["--url", "memory:", "run", "--ttl", "2s", "a", "--", "sh", "-c", script]);
    let pid = run.ward();
    let begin = Stopwatch::start();
    run.signal(Signal::STOP);
    assert_eq!(run.line(), "told", "by the shim");
    until("the command is gone", || !is_alive(pid));
    begin.at_most(Duration::from_secs(2), "the command is gone before the lease");
    run.signal(Signal::CONT);
    let output = run.end().code(74);
    assert!(output.stderr.contains("the command was stopped"), "{output:?}");
}

#[test]
fn while_cotter_is_stopped_max_hold_ends_what_ignores_term() {
    let env = TestEnv::new();
    let script = "trap '' TERM; echo $$; while :; do sleep 0.1; done";
    let args = ["run", "--ttl", "1s", "--max-hold", "300ms", "a", "--", "sh", "-c", script];
    let mut run = env.start(args);
    let pid = run.ward();
    run.signal(Signal::STOP);
    until("the command is gone", || !is_alive(pid));
    run.signal(Signal::CONT);
    run.end().code(124);
}

#[test]
fn a_lease_that_is_renewed_outlives_its_ttl() {
    let env = TestEnv::new();
    let script = "sleep 1.5; exit 3";
    env.run(["--url", "memory:", "run", "--ttl", "500ms", "a", "--", "sh", "-c", script]).code(3).silent();
}

/// The wrapper stands still, or hears nothing of the server any more, or both: its command ends before the next holder's
/// begins, and it says what happened when it can.
#[test]
#[ignore = "needs redis-server"]
fn on_redis_the_next_command_never_runs_beside_one_that_lost_its_lock() {
    let redis = Redis::start();
    let env = TestEnv::new();
    let ttl = Duration::from_secs(2);
    for (stopped, cut_off) in [(true, false), (false, true), (true, true)] {
        let proxy = Proxy::start(redis.port());
        let options = ["run", "--ttl", "2s", "a", "--", "sh", "-c"];
        let mut first = env.cotter([&options[..], &["echo $$; while :; do sleep 0.05; done"]].concat());
        let mut first = Running::start(first.env("COTTER_URL", proxy.redis_url("timeout=500ms")));
        let pid = first.ward();
        let beside = format!("kill -0 {} 2>/dev/null && echo beside || echo alone", pid.as_raw_nonzero());
        let mut next = env.cotter([&options[..], &[&*beside]].concat());
        let mut next = Running::start(next.env("COTTER_URL", redis.url("")));
        until("the next one waits", || redis.command(&["ZCARD", "cotter:{a}:q"]) == "1");
        let begin = Instant::now();
        proxy.freeze(cut_off);
        if stopped {
            first.signal(Signal::STOP);
        }
        assert_eq!(next.line(), "alone", "stopped: {stopped}, cut off: {cut_off}");
        next.end().code(0);
        std::thread::sleep((ttl * 3).saturating_sub(begin.elapsed()).min(ttl));
        if stopped {
            first.signal(Signal::CONT);
        }
        let output = first.end().code(74);
        assert!(output.stderr.contains("the command was stopped"), "{output:?}");
        proxy.freeze(false);
    }
}

/// Shorter than a third of the lease, so that no renewal tells it: the first to ask is the release.
#[test]
#[ignore = "needs redis-server"]
fn a_lock_that_had_gone_when_the_command_ended_is_74_and_stands_in_the_report() {
    let redis = Redis::start();
    let env = TestEnv::new();
    let report = env.path("report.json");
    let thefts: [(&str, &[&str]); 5] = [
        ("", &["DEL", "cotter:{a}"]),
        ("", &["FLUSHALL"]),
        ("mode=plain", &["SET", "a", "somebody else's"]),
        ("mode=plain", &["DEL", "a"]),
        ("mode=getset", &["DEL", "a"]),
    ];
    for (options, theft) in thefts {
        let url = redis.url(options);
        for rest in [&[][..], &["--at-least", "20s"]] {
            redis.command(&["FLUSHALL"]);
            let args = ["run", "-q", "--report", report.to_str().unwrap()];
            let command = ["a", "--", "sh", "-c", "echo held; read line; exit 3"];
            let mut run = env.cotter([&args[..], rest, &command[..]].concat());
            let mut run = Running::start(run.env("COTTER_URL", &url));
            assert_eq!(run.line(), "held");
            redis.command(theft);
            let said = ["\"a\"", "token", "not held any more", "the command had ended by then"];
            run.let_go().code(74).one_line(&said);
            let told: serde_json::Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
            assert_eq!(
                (&told["outcome"], &told["code"]),
                (&"lost".into(), &74.into()),
                "{options} {theft:?}"
            );
            assert!(told["error"].as_str().unwrap().contains("not held any more"), "{told}");
        }
    }
}

/// Two run at once, and the first one says so in the end.
#[test]
#[ignore = "needs redis-server"]
fn an_eviction_that_the_holder_has_not_heard_of_is_74() {
    let redis = Redis::start();
    let env = TestEnv::new();
    let mut run = env.cotter(["run", "a", "--", "sh", "-c", "echo held; read line"]);
    let mut run = Running::start(run.env("COTTER_URL", redis.url("")));
    assert_eq!(run.line(), "held");
    for args in [&["evict", "--now", "a"][..], &["run", "-n", "a", "--", "true"]] {
        Running::start(env.cotter(args).env("COTTER_URL", redis.url(""))).end().code(0);
    }
    run.let_go().code(74).one_line(&[
        "\"a\"",
        "not held any more",
        "another holder may have run at the same time",
    ]);
}

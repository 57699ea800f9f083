//! `--grace`, `--at-least`, `--slot` and `--report`.

use crate::env::{Running, TestEnv, is_alive};
use cotter_testkit::timing::Stopwatch;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::time::Duration;

#[test]
fn a_grace_is_as_long_as_was_asked() {
    let env = TestEnv::new();
    let script = "trap '' TERM; echo $$; while :; do sleep 0.1; done";
    let args = ["run", "--grace", "100ms", "--max-hold", "200ms", "a", "--", "sh", "-c", script];
    let mut run = env.start(args);
    let (pid, begin) = (run.ward(), Stopwatch::start());
    run.end().code(124);
    begin.at_most(Duration::from_secs(3), "not the 5 s without it");
    assert!(!is_alive(pid));
    let output = env.run(["run", "--ttl", "3s", "--grace", "2s", "a", "true"]).code(64);
    output.one_line(&["--ttl 3s", "the minimum is 6s"]);
}

#[test]
fn at_least_keeps_others_out_after_the_command_has_ended() {
    let env = TestEnv::new();
    let begin = Stopwatch::start();
    let mut run = env.start(["run", "--at-least", "700ms", "a", "--", "sh", "-c", "exit 3"]);
    assert!(run.error_line().contains("stays held for"));
    env.run(["run", "-n", "-q", "a", "true"]).code(75);
    run.end().code(3);
    begin.at_least(Duration::from_millis(700), "it stays held");
    let mut run = env.start(["run", "--at-least", "1h", "a", "true"]);
    run.error_line();
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn of_many_with_one_slot_one_runs() {
    let env = TestEnv::new();
    let log = env.path("log");
    let script = "echo ran >> \"$0\"; sleep 0.2";
    let args = ["run", "-q", "--slot", "monday", "a", "--", "sh", "-c", script, log.to_str().unwrap()];
    let runs: Vec<_> = (0..20).map(|_| env.start(args)).collect();
    for run in runs {
        run.end().code(0).silent();
    }
    assert_eq!(fs::read_to_string(&log).unwrap(), "ran\n");
    let args = ["run", "--slot", "tuesday", "a", "--", "sh", "-c", script, log.to_str().unwrap()];
    env.run(args).code(0);
    assert_eq!(fs::read_to_string(&log).unwrap(), "ran\nran\n");
}

#[test]
fn a_slot_is_not_done_when_its_command_fails() {
    let env = TestEnv::new();
    env.run(["run", "--slot", "x", "a", "--", "sh", "-c", "exit 3"]).code(3);
    env.run(["run", "--slot", "x", "a", "--", "sh", "-c", "kill $$"]).code(143);
    assert_eq!(env.run(["run", "--slot", "x", "a", "echo", "ran"]).code(0).stdout, "ran\n");
    assert_eq!(env.run(["run", "--slot", "x", "a", "echo", "ran"]).code(0).stdout, "");
    assert_eq!(env.run(["run", "--slot", "x", "b", "echo", "ran"]).code(0).stdout, "ran\n");
    env.run(["run", "--slot", "", "a", "true"]).code(64);
}

#[test]
fn once_on_all_hosts_needs_a_store_that_was_chosen() {
    let env = TestEnv::new();
    let run = |args: &[&str]| Running::start(env.cotter(args).env_remove("COTTER_URL")).end();
    run(&["run", "--slot", "x", "a", "true"]).code(78).one_line(&["--slot", "COTTER_URL", "--url file:"]);
    run(&["run", "a", "true"]).code(0).silent();
    run(&["run", "--url", "file:", "--slot", "x", "a", "true"]).code(0).silent();
}

#[test]
fn without_notes_a_slot_is_refused_before_anything_is_waited_for() {
    let mut env = TestEnv::new();
    env.store = Some(format!("flock:{}", env.path("lock").display()));
    let (holder, _) = env.hold(&[], "a");
    env.run(["run", "--slot", "x", "a", "true"]).code(64).one_line(&["flock does not support notes"]);
    holder.let_go().code(0);
}

fn report(env: &TestEnv, args: &[&str], code: i32) -> Value {
    let file = env.path("report");
    let _ = fs::remove_file(&file);
    let file = file.to_str().unwrap();
    env.run([&["run", "-q", "--report", file], args].concat()).code(code);
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn a_report_says_how_it_went() {
    let env = TestEnv::new();
    let told = report(&env, &["a", "--", "sh", "-c", "sleep 0.2; exit 3"], 3);
    assert_eq!((&told["outcome"], &told["code"]), (&"exited".into(), &3.into()));
    assert_eq!((&told["name"], &told["signal"]), (&"a".into(), &Value::Null));
    assert!(told["token"].as_str().unwrap().parse::<u64>().unwrap() > 0);
    assert!(told["held_ms"].as_u64().unwrap() >= 200 && told["waited_ms"].as_u64().unwrap() < 5000, "{told}");
    let told = report(&env, &["--max-hold", "100ms", "a", "--", "sleep", "600"], 124);
    assert_eq!(told["outcome"], "max_hold");
    assert!(told["error"].as_str().unwrap().contains("--max-hold"));
    let told = report(&env, &["a", "--", "sh", "-c", "kill -USR1 $$"], 138);
    assert_eq!(
        (&told["outcome"], &told["code"], &told["signal"]),
        (&"exited".into(), &138.into(), &10.into())
    );
    let slot = ["--slot", "x", "a", "true"];
    assert_eq!(report(&env, &slot, 0)["outcome"], "exited");
    assert_eq!(report(&env, &slot, 0)["outcome"], "done_before");
    assert_eq!(report(&env, &["a", "/nowhere"], 127)["outcome"], "not_started");
    let (holder, _) = env.hold(&[], "a");
    let told = report(&env, &["-w", "100ms", "a", "true"], 75);
    assert_eq!(
        (&told["outcome"], &told["token"], &told["held_ms"]),
        (&"busy".into(), &Value::Null, &Value::Null)
    );
    holder.let_go().code(0);
    env.run(["run", "--report", "/nowhere/r", "a", "true"]).code(0).one_line(&["the report /nowhere/r"]);
}

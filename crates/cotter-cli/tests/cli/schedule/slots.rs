//! `cotter jobs trigger --slot`, and `--from` with `--to`.

use super::printed;
use crate::env::{Output, Running, TestEnv};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::until;
use rustix::process::Signal;

/// All its slots have passed, and the third one fails.
const JOB: &str = "[job.a]\ncron = \"0 0 0 * * ? 2020\"\n\
    shell = \"echo $COTTER_SLOT${COTTER_ONE_SHOT-}; test $COTTER_SLOT != 2020-01-03T00:00:00Z\"\n\
    [job.b]\non_demand = true\nshell = \"true\"\n";

/// A scheduler whose jobs are known.
fn begin(env: &TestEnv) -> Running {
    let run = env.schedule(JOB);
    until("both are known", || {
        env.run(["jobs", "--group", "g", "list"]).stdout.matches("waiting").count() == 2
    });
    run
}

fn trigger(env: &TestEnv, words: &[&str]) -> Output {
    env.run([&["jobs", "--group", "g", "trigger"], words].concat())
}

#[test]
fn a_slot_that_has_passed_is_run() {
    let env = TestEnv::new();
    let mut run = begin(&env);
    trigger(&env, &["a", "--slot", "2020-05-02T01:00:00+01:00", "--wait"]).code(0).silent();
    assert_eq!(printed(&mut run), "2020-05-02T00:00:00Z", "as if it were due, without an id");
    let history = env.run(["jobs", "--group", "g", "history", "a"]).code(0).stdout;
    assert!(history.contains("2020-05-02T00:00:00Z (triggered)"), "{history}");
    let late = env.run(["jobs", "--group", "g", "history", "--late", "1m"]).code(0).stdout;
    demand(late.is_empty(), Kind::Untrue, format!("nobody was late with what was asked for today: {late}"));
    let nearest =
        ["no", "of its slots", "the nearest ones are 2020-05-02T00:00:00Z and 2020-05-03T00:00:00Z"];
    trigger(&env, &["a", "--slot", "2020-05-02T12:00:00Z"]).code(64).one_line(&nearest);
    trigger(&env, &["a", "--slot", "2098-05-02T00:00:00Z"]).code(64).one_line(&["is in the future"]);
    trigger(&env, &["a", "--slot", "2020-05-02"]).code(64).one_line(&["--slot"]);
    trigger(&env, &["b", "--slot", "2020-05-02T00:00:00Z"]).code(64).one_line(&["on demand"]);
    for words in [
        &["a", "A=1", "--slot", "2020-05-02T00:00:00Z"][..],
        &["a", "--from", "2020-05-02T00:00:00Z"],
        &["a", "--to", "2020-05-02T00:00:00Z"],
        &["a", "--slot", "2020-05-02T00:00:00Z", "--to", "2020-05-02T00:00:00Z"],
    ] {
        trigger(&env, words).code(64);
    }
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn the_slots_of_some_days_are_run_and_told() {
    let env = TestEnv::new();
    let run = begin(&env);
    let days = |from: &str, to: &str| [from, to].map(|day| format!("2020-{day}T00:00:00Z"));
    let range = |from: &str, to: &str, more: &[&str]| {
        let [from, to] = days(from, to);
        trigger(&env, &[&["a", "--from", &from, "--to", &to], more].concat())
    };
    range("01-01", "01-18", &[]).code(64).one_line(&["a: 17 slots", "at most 16", "nothing was requested"]);
    let refused = range("01-01", "12-31", &["--json"]).code(64).one_line(&["365 slots"]).json();
    let refused = &refused[0];
    assert_eq!((&refused["result"], &refused["slots"]), (&"too_many".into(), &365.into()), "{refused}");
    assert_eq!((&refused["most"], &refused["waiting"]), (&16.into(), &0.into()), "{refused}");
    assert_eq!(env.run(["jobs", "--group", "g", "pending"]).stdout, "");
    range("01-05", "01-05", &[]).code(64).one_line(&["is not before"]);
    range("01-05", "01-07", &["--wait"]).code(0).silent();
    let told = range("01-01", "01-05", &["--wait"]);
    demand(told.code == 1, Kind::Untrue, format!("one has failed: {told:?}"));
    assert_eq!(told.stdout, "2020-01-03T00:00:00Z\n");
    let says = ["a, 2020-01-03T00:00:00Z: ended", "failed: exit code 1", "a: 1 of 4 slots did not succeed"];
    assert!(says.iter().all(|says| told.stderr.contains(says)), "{told:?}");
    let objects = range("01-01", "01-04", &["--wait", "--json"]).code(1).json();
    let slots: Vec<_> = objects.iter().map(|run| run["slot"].as_str().unwrap()).collect();
    assert_eq!(slots, ["2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z", "2020-01-03T00:00:00Z"]);
    assert_eq!((&objects[0]["asked"], &objects[0]["id"]), (&true.into(), &serde_json::Value::Null));
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn slots_that_wait_are_listed() {
    let env = TestEnv::new();
    let run = begin(&env);
    run.signal(Signal::TERM);
    run.end().code(0);
    let list = |words: &[&str]| env.run([&["jobs", "--group", "g", "list"], words].concat()).code(0);
    for (day, says) in [("02", "; 1 requested slot waits"), ("03", "; 2 requested slots wait")] {
        trigger(&env, &["a", "--slot", &format!("2020-05-{day}T00:00:00Z")]).code(0);
        let listed = list(&[]).stdout;
        demand(listed.contains(says), Kind::Untrue, format!("{says:?} is not said: {listed}"));
    }
    let counts: Vec<_> = list(&["--json"]).json().iter().map(|job| job["requested_slots"].clone()).collect();
    assert_eq!(counts, [2, 0]);
}

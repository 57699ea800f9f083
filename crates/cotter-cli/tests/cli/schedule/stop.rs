//! `cotter jobs stop`.

use super::{event, once, printed};
use crate::env::{Running, TestEnv, is_alive, is_stopped};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::until;
use rustix::process::{Pid, Signal};
use serde_json::Value;

/// Whoever finds its run dead would run it again.
const AGAIN: &str = "[defaults]\nttl = \"2s\"\nretries = 3\non_crash = \"rerun\"\n";

fn history(env: &TestEnv) -> Vec<Value> {
    env.run(["--json", "jobs", "--group", "g", "history", "a"]).code(0).json()
}

/// The process that the script has printed.
fn pid(run: &mut Running) -> Pid {
    let pid = Pid::from_raw(printed(run).parse().unwrap()).unwrap();
    run.wards.push(pid);
    pid
}

#[test]
fn a_run_that_is_stopped_gets_term_and_is_recorded_with_who_has_done_that() {
    let env = TestEnv::new();
    let script = "trap 'echo told; exit 0' TERM; echo $$; while :; do sleep 0.05; done";
    let follow = "on_failure = 'echo $COTTER_OUTCOME by $COTTER_REASON > followed'\n";
    let cwd = format!("cwd = \"{}\"\n", env.path("").display());
    let mut run = env.schedule(&[AGAIN, &once("a", script), follow, &cwd].concat());
    let command = pid(&mut run);
    let jobs = |words: &[&str]| env.run([&["--json", "jobs", "--group", "g"], words].concat());
    let told = jobs(&["stop", "a"]).code(0).silent().json().remove(0);
    let who = told["reason"].as_str().unwrap_or_default().to_owned();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    assert_eq!(
        (&told["result"], &told["outcome"], &told["host"]),
        (&"stopped".into(), &"stopped".into(), &host.into()),
        "{told}"
    );
    assert!(who.contains(" on "), "{told}");
    assert!(!is_alive(command));
    assert_eq!(printed(&mut run), "told");
    let ended = event(&mut run, "ended");
    assert_eq!((&ended["outcome"], &ended["last"]), (&"stopped".into(), &true.into()), "{ended}");
    let runs = history(&env);
    assert_eq!(
        (runs.len(), &runs[0]["outcome"], &runs[0]["reason"]),
        (1, &"stopped".into(), &who.clone().into())
    );
    let table = env.run(["jobs", "--group", "g", "list"]).code(0).stdout;
    assert!(table.contains(&format!("stopped by {who}")), "{table}");
    let check = env.run(["jobs", "--group", "g", "check"]).code(1).stdout;
    assert_eq!(check, format!("a: its last run was stopped by {who}\n"));
    let followed = || std::fs::read_to_string(env.path("followed")).unwrap_or_default();
    until("it is followed", || followed() == format!("stopped by {who}\n"));

    let told = jobs(&["stop", "a"]).code(75);
    assert_eq!(told.json()[0]["result"], "not_running");
    env.run(["jobs", "--group", "g", "stop", "a"]).code(75).one_line(&["a: no run is in progress"]);
    env.run(["jobs", "--group", "g", "stop", "b"]).code(64).one_line(&["has no job \"b\""]);
    run.signal(Signal::TERM);
    run.end().code(0);
}

/// The request stands, so that nobody runs again what was to end.
#[test]
fn a_host_that_does_not_react_and_is_killed_does_not_leave_the_run_to_others() {
    let env = TestEnv::new();
    let text = [AGAIN, &once("a", "echo $$; exec sleep 600")].concat();
    let mut run = env.schedule(&text);
    pid(&mut run);
    run.signal(Signal::STOP);
    until("it is stopped", || is_stopped(run.pid()));
    let asked = env.run(["--json", "jobs", "--group", "g", "stop", "a", "--wait", "300ms"]).code(1);
    assert_eq!(asked.json()[0]["result"], "waiting");
    assert!(asked.stderr.contains("has not ended within 300 ms: host "), "{asked:?}");
    run.signal(Signal::KILL);
    let other = env.schedule(&text);
    // Not before the other one has found what is left of the run.
    let told = env.run(["--json", "jobs", "--group", "g", "stop", "a"]);
    if told.code == 0 {
        assert_eq!(
            (&told.json()[0]["result"], &told.json()[0]["outcome"]),
            (&"ended".into(), &"crashed".into())
        );
    } else {
        told.code(75);
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    let runs = history(&env);
    let list = env.run(["--json", "jobs", "--group", "g", "list"]).code(0).json();
    let again = runs.len() > 1 || list[0]["ended"].is_null();
    demand(!again, Kind::SlotTwice, format!("it was run again: {runs:?} {list:?}"));
    assert_eq!(runs[0]["outcome"], "crashed");
    other.signal(Signal::TERM);
    other.end().code(0);
}

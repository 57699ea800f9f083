//! `cotter jobs pause --for` and `cotter jobs trigger --wait`.

use super::{event, printed};
use crate::env::TestEnv;
use cotter_testkit::timing::until;
use rustix::process::Signal;
use serde_json::Value;

#[test]
fn a_run_that_was_asked_for_is_waited_for() {
    let env = TestEnv::new();
    let file = "[job.good]\non_demand = true\nshell = \"sleep 1; echo good\"\n\
        [job.bad]\non_demand = true\nshell = \"echo \\\"no $COTTER_ARG_WHAT\\\"; exit 3\"\n";
    let run = env.schedule(file);
    let trigger = |words: &[&str]| env.run([&["jobs", "--group", "g", "trigger", "--wait"], words].concat());
    until("both are known", || {
        env.run(["jobs", "--group", "g", "list"]).stdout.matches("waiting").count() == 2
    });
    trigger(&["good"]).code(0).silent();
    let failed = trigger(&["bad", "WHAT=room"]).code(1);
    assert_eq!(failed.stdout, "no room\n", "{failed:?}");
    assert!(
        failed.stderr.contains("bad: ended") && failed.stderr.contains("failed: exit code 3"),
        "{failed:?}"
    );
    let told = env.run(["--json", "jobs", "--group", "g", "trigger", "--wait", "good"]).code(0).json();
    assert_eq!((&told[0]["outcome"], &told[0]["job"], told.len()), (&"ok".into(), &"good".into(), 1));
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn a_pause_has_an_end() {
    let env = TestEnv::new();
    let mut run = env.schedule("[job.a]\nfixed_rate = \"50ms\"\nshell = \"echo a\"\n");
    printed(&mut run);
    let jobs = |words: &[&str]| env.run([&["jobs", "--group", "g"], words].concat());
    jobs(&["pause", "a", "--for", "0s"]).code(64);
    jobs(&["pause", "a", "--for", "soon"]).code(64);
    jobs(&["pause", "a", "--for", "1h", "--reason", "repairs"]).code(0).silent();
    let paused = event(&mut run, "paused");
    assert!(paused["until"].as_str().is_some_and(|until| until.ends_with('Z')), "{paused}");
    let already = ["a: was paused already until 2", "Z, by ", " since 2", ": repairs; nothing was changed"];
    jobs(&["pause", "a", "--for", "10m"]).code(0).one_line(&already);
    let listed = jobs(&["list"]).code(0).stdout;
    assert!(listed.contains(", ends in ") && listed.contains(": repairs"), "{listed}");
    jobs(&["resume", "a"]).code(0).silent();
    assert!(event(&mut run, "resumed")["by"].is_string());
    jobs(&["pause", "--all", "--for", "2s"]).code(0).silent();
    event(&mut run, "paused");
    assert_eq!(event(&mut run, "resumed")["by"], Value::Null, "it has ended by itself");
    event(&mut run, "started");
    run.signal(Signal::TERM);
    run.end().code(0);
}

//! Jobs that no scheduler has.

use super::metrics::{AT, address, get, value};
use crate::env::TestEnv;
use cotter_testkit::timing::until;
use rustix::process::Signal;
use serde_json::Value;

fn job(name: &str) -> String {
    format!("[job.{name}]\ncron = \"0 0 0 1 1 ? 2099\"\ncommand = [\"true\"]\n")
}

#[test]
fn a_job_that_was_removed_is_told_from_one_that_waits_and_can_be_forgotten() {
    let env = TestEnv::new();
    let path = env.jobs(&(job("kept") + &job("gone")));
    let mut run = env.start([&["--json", "schedule", path.to_str().unwrap()][..], &AT].concat());
    let at = address(&mut run);
    let jobs = |words: &[&str]| env.run([&["jobs", "--group", "g"], words].concat());
    let orphaned = || -> Vec<Value> {
        let all = env.run(["--json", "jobs", "--group", "g", "list"]).json();
        all.iter().map(|job| job["orphaned"].clone()).collect()
    };
    until("both are known", || orphaned() == [false, false]);
    assert!(!jobs(&["list"]).code(0).stdout.contains("no host"));
    jobs(&["forget", "--orphaned"]).code(0);
    env.jobs(&job("kept"));
    run.signal(Signal::HUP);
    until("it is removed", || orphaned() == [true, false]);
    let table = jobs(&["list"]).code(0).stdout;
    assert!(table.contains("gone  no host has this job") && table.contains("kept  waiting"), "{table}");
    until("it is a figure", || {
        let of = |name| {
            value(&get(&at, "/metrics"), &format!("cotter_job_orphaned{{group=\"g\",job=\"{name}\"}}"))
        };
        (of("gone"), of("kept")) == (Some(1.0), Some(0.0))
    });
    jobs(&["pause", "gone"]).code(0);
    let table = jobs(&["list"]).code(0).stdout;
    assert!(table.contains("gone  paused by ") && table.contains("; no host has this job"), "{table}");
    let dry = jobs(&["forget", "--orphaned", "--dry-run"]).code(0);
    assert_eq!((dry.stdout.as_str(), orphaned().len()), ("gone: would be forgotten\n", 2));
    assert_eq!(jobs(&["forget", "--orphaned"]).code(0).stdout, "gone: forgotten\n");
    assert_eq!(orphaned(), [false]);
    run.signal(Signal::TERM);
    run.end().code(0);
    jobs(&["forget", "--orphaned"]).code(75).one_line(&["no scheduler of this group runs"]);
    assert_eq!(orphaned(), [true], "it is kept: its scheduler may only be restarted");
    jobs(&["forget"]).code(64);
    jobs(&["forget", "kept", "--orphaned"]).code(64);
}

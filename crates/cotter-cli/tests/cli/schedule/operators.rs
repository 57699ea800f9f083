//! `cotter jobs`.

use super::{event, printed};
use crate::env::{TestEnv, until};
use rustix::process::Signal;

#[test]
fn jobs_are_listed_paused_resumed_and_asked_for() {
    let env = TestEnv::new();
    let mut run = env.schedule("[job.a]\nfixed_rate = \"50ms\"\nshell = \"echo a\"\n[job.b]\ncron = \"0 0 0 1 1 ? 2099\"\nshell = \"echo b; exit 4\"\n");
    printed(&mut run);
    let path = env.path("jobs.toml");
    let jobs = |words: &[&str]| env.run([&["jobs", "--file", path.to_str().unwrap()], words].concat());
    jobs(&["pause", "a"]).code(0).silent();
    let paused = event(&mut run, "paused");
    assert!(paused["by"].as_str().unwrap().contains(" on "), "{paused}");
    jobs(&["trigger", "b"]).code(0).silent();
    while printed(&mut run) != "b" {}
    assert_eq!(event(&mut run, "ended")["code"], 4);
    let history = || env.run(["--json", "jobs", "--group", "g", "history", "b"]).code(0).silent().json();
    // It is told before it is written down.
    until("it is in the history", || !history().is_empty());
    let output = env.run(["jobs", "--group", "g", "list"]).code(0).silent();
    let lines: Vec<_> = output.stdout.lines().collect();
    assert!(lines[0].starts_with("JOB  STATE") && lines.len() == 3, "{output:?}");
    assert!(lines[1].starts_with("a    paused by ") && lines[1].ends_with("fixed rate 50ms"), "{output:?}");
    assert!(lines[2].contains("failed: exit code 4"), "{output:?}");
    assert!(lines[0].contains("NEXT SLOT") && lines[2].contains("2099-01-01T00:00:00Z"), "{output:?}");
    let history = history();
    assert_eq!(
        (history.len(), &history[0]["asked"], &history[0]["outcome"]),
        (1, &true.into(), &"failed".into())
    );
    let table = jobs(&["history", "b"]).code(0);
    assert!(table.stdout.contains("(triggered)"), "{table:?}");
    jobs(&["resume", "a"]).code(0);
    event(&mut run, "resumed");
    while printed(&mut run) != "a" {}
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn a_job_that_nobody_knows_is_64() {
    let env = TestEnv::new();
    env.run(["jobs", "--group", "g", "pause", "x"]).code(64).one_line(&["has no job \"x\""]);
    env.run(["jobs", "list"]).code(64).one_line(&["--file", "--group"]);
    let nothing = env.run(["jobs", "--group", "g", "list"]).code(0).silent();
    assert_eq!(nothing.stdout, "");
}

#[test]
fn a_broken_file_is_78_with_the_first_mistake() {
    let env = TestEnv::new();
    let path = env.jobs("wrokers = 3\n[job.b]\n");
    let output = env.run(["jobs", "--file", path.to_str().unwrap(), "list"]).code(78);
    output.one_line(&["line 2: unknown key `wrokers`", "2 more, see `cotter schedule --validate`"]);
}

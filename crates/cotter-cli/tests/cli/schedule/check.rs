//! `cotter jobs check`.

use super::{event, printed};
use crate::env::TestEnv;
use cotter_testkit::timing::until;
use rustix::process::Signal;

#[test]
fn monitoring_is_told_whether_all_is_well() {
    let env = TestEnv::new();
    let good = "[job.good]\nfixed_rate = \"50ms\"\nshell = \"echo good\"\n";
    let mut run = env.schedule(&format!("{good}[job.bad]\non_demand = true\nshell = \"exit 3\"\n"));
    printed(&mut run);
    let check = |words: &[&str]| env.run([&["jobs", "--group", "g", "check"], words].concat());
    until("both are known", || check(&["bad"]).code != 64);
    assert_eq!(check(&[]).code(0).silent().stdout, "ok: 2 jobs; 1 scheduler\n");
    env.run(["jobs", "--group", "g", "trigger", "bad"]).code(0);
    while event(&mut run, "ended")["job"] != "bad" {}
    until("it is written down", || check(&[]).code == 1);
    let failed = "bad: its last run failed: exit code 3\n";
    assert_eq!(check(&[]).code(1).silent().stdout, failed);
    assert_eq!(check(&["good"]).code(0).silent().stdout, "ok: 1 job; 1 scheduler\n");
    let old = check(&["good", "--max-age", "1ns"]).code(1).silent().stdout;
    assert!(old.starts_with("good: its last success was ") && old.ends_with(" ago\n"), "{old}");
    let never = check(&["bad", "--max-age", "1ns"]).code(1).silent().stdout;
    assert!(never.contains("bad: it has never succeeded, and was first started "), "{never}");
    check(&["typo"]).code(64).one_line(&["no job \"typo\""]);
    run.signal(Signal::TERM);
    run.end().code(0);
    let alone = check(&["good"]).code(1).silent().stdout;
    assert!(alone.starts_with("no scheduler of this group runs") && alone.lines().count() == 1, "{alone}");
    until("it is overdue", || check(&["good", "--max-overdue", "1s"]).stdout.contains("good: overdue for "));
    let objects = env.run(["--json", "jobs", "--group", "g", "check", "--max-overdue", "1s"]).code(1).json();
    let problems: Vec<_> = objects.iter().map(|object| object["problem"].as_str().unwrap()).collect();
    assert_eq!(problems, ["no_scheduler", "failed", "overdue"], "{objects:?}");
    assert!(objects[2]["since"].is_string() && objects[0]["job"].is_null(), "{objects:?}");
    env.run(["jobs", "--group", "g", "pause", "good"]).code(0);
    let paused = check(&["good", "--max-overdue", "1s", "--max-age", "1ns"]).code(1).stdout;
    assert!(!paused.contains("good"), "a paused job is neither: {paused}");
}

//! `cotter jobs failed`.

use super::event;
use super::histories::{Asked, asked};
use crate::env::TestEnv;
use rustix::process::Signal;
use std::fs;

#[test]
fn what_failed_is_told_with_how_often_when_where_and_why() {
    let report = "echo one; echo two; echo; exit 4";
    let text =
        [asked("orders-clean-up", "kill -KILL $$"), asked("report", report), asked("sound", "true")].concat();
    let mut group = Asked::start(&text);
    let none = group.env.run(["-v", "jobs", "--group", "g", "failed"]).code(0);
    assert!(
        none.stdout.is_empty() && none.stderr.contains("no run of this group has failed since 20"),
        "{none:?}"
    );
    assert_eq!(group.jobs(&["failed"]).code(0).silent().stdout, "");
    group.run(&["report", "report", "orders-clean-up", "sound", "sound"]);
    let table = group.jobs(&["failed"]).code(0).silent().stdout;
    let lines: Vec<_> = table.lines().collect();
    assert!(lines[0].starts_with("JOB              FAILED  LAST  ") && lines.len() == 4, "{table}");
    assert!(
        lines[1].starts_with("report           2 of 2  20") && lines[1].ends_with("  failed: exit code 4"),
        "{table}"
    );
    assert_eq!(lines[2], "  two", "the last line that is not empty");
    assert!(lines[3].starts_with("orders-clean-up  1 of 1  20"), "{table}");
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    assert!(lines[1].contains(&host) && lines.iter().all(|line| line.chars().count() <= 80), "{table}");
    let wide = group.jobs(&["failed", "--wide"]).code(0).stdout;
    assert!(wide.contains("  TOKEN  ") && wide.contains("  failing\n  two\n"), "{wide}");
    group.stop();
}

#[test]
fn the_last_failure_of_a_job_is_told_and_whether_it_has_recovered() {
    let env = TestEnv::new();
    let flag = env.path("repaired");
    let text = asked("a", &format!("test -e {} || {{ echo down; exit 3; }}", flag.display()));
    let mut group = Asked::on(env, &text);
    group.run(&["a", "a"]);
    let told = |group: &Asked| group.json(&["failed"]).remove(0);
    assert_eq!((&told(&group)["recovered"], &told(&group)["runs"]), (&false.into(), &2.into()));
    fs::write(&flag, "").unwrap();
    group.run(&["a"]);
    let (failed, runs) = (told(&group), group.json(&["history", "a"]));
    let counts = [&failed["failed"], &failed["runs"]].map(|count| count.as_u64().unwrap());
    assert_eq!((counts, &failed["recovered"]), ([2, 3], &true.into()));
    assert_eq!((&failed["last_line"], &failed["code"]), (&"down".into(), &3.into()));
    assert_eq!(failed["first_started"], runs[0]["started"]);
    for field in ["job", "slot", "attempt", "token", "host", "started", "ended", "outcome", "reason"] {
        assert_eq!(failed[field], runs[1][field], "{field} is that of the last failed run");
    }
    assert!(group.jobs(&["failed", "--wide"]).stdout.contains("  recovered\n"));
    let ended = runs[2]["ended"].as_str().unwrap();
    assert_eq!(group.jobs(&["failed", "--since", ended]).code(0).silent().stdout, "", "that was before");
    group.stop();
}

/// It made way for the next one, as the job wants it.
#[test]
fn a_run_that_was_replaced_has_not_failed() {
    let env = TestEnv::new();
    let job = "[job.a]\nfixed_rate = \"500ms\"\nconcurrency = \"replace\"\nshell = \"exec sleep 600\"\n";
    let mut run = env.schedule(job);
    assert_eq!(event(&mut run, "ended")["outcome"], "replaced");
    let failed = ["--json", "jobs", "--group", "g", "failed"];
    assert_eq!(env.run(failed).code(0).silent().stdout, "");
    run.signal(Signal::KILL);
    drop(run);
}

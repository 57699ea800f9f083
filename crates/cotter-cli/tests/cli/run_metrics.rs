//! `cotter run --metrics FILE`.

use crate::env::{Output, TestEnv};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const MANUAL: &str = include_str!("../../../../docs/observability.md");

fn run(env: &TestEnv, options: &[&str], script: &str) -> Output {
    let file = env.path("backup.prom");
    let words =
        [&["run", "--metrics", file.to_str().unwrap()], options, &["backup", "--", "sh", "-c", script]];
    env.run(words.concat())
}

fn page(env: &TestEnv) -> String {
    fs::read_to_string(env.path("backup.prom")).unwrap()
}

fn value(page: &str, series: &str) -> Option<f64> {
    let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
    Some(line.parse().unwrap())
}

fn of(metric: &str) -> String {
    format!("{metric}{{lock=\"backup\"}}")
}

fn outcome(word: &str) -> String {
    format!("cotter_run_outcome{{lock=\"backup\",outcome=\"{word}\"}}")
}

#[test]
fn a_failure_keeps_the_time_of_the_last_success() {
    let env = TestEnv::new();
    let success = of("cotter_run_last_success_timestamp_seconds");
    run(&env, &[], "exit 7").code(7);
    assert_eq!(value(&page(&env), &success), None, "there was none: {}", page(&env));
    run(&env, &[], "true").code(0);
    let first = page(&env);
    let at = value(&first, &success).unwrap();
    assert_eq!(Some(at), value(&first, &of("cotter_run_end_timestamp_seconds")));
    run(&env, &[], "exit 7").code(7);
    let second = page(&env);
    assert_eq!(value(&second, &success), Some(at));
    assert_eq!(value(&second, &of("cotter_run_exit_code")), Some(7.0));
    assert_eq!(value(&second, &outcome("exited")), Some(1.0));
    assert!(value(&second, &of("cotter_run_hold_seconds")).is_some(), "{second}");
    assert!(value(&second, &of("cotter_run_end_timestamp_seconds")) > Some(at), "{second}");
    let mode = fs::metadata(env.path("backup.prom")).unwrap().permissions().mode();
    assert_eq!(mode & 0o444, 0o444, "another user collects it: {mode:o}");
    for name in second.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let name = name.split(' ').next().unwrap();
        assert!(MANUAL.contains(&format!("| `{name}`")), "docs/observability.md does not list {name}");
    }
}

#[test]
fn a_run_that_did_not_get_the_lock_has_figures_too() {
    let env = TestEnv::new();
    let (held, _) = env.hold(&[], "backup");
    run(&env, &["--no-wait"], "true").code(75);
    let page = page(&env);
    assert_eq!(value(&page, &outcome("busy")), Some(1.0), "{page}");
    assert_eq!(value(&page, &of("cotter_run_hold_seconds")), None, "{page}");
    assert!(value(&page, &of("cotter_run_wait_seconds")).is_some(), "{page}");
    held.let_go().code(0);
}

#[test]
fn a_file_that_cannot_be_written_is_a_warning() {
    let env = TestEnv::new();
    let file = env.path("none/backup.prom");
    let words = ["run", "--metrics", file.to_str().unwrap(), "backup", "--", "true"];
    env.run(words).code(0).one_line(&["the metrics", "backup.prom were not written"]);
}

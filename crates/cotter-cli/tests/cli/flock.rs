//! `flock:PATH` against the real flock(1), in both directions.

use crate::env::{Running, TestEnv, is_alive};
use cotter_testkit::timing::until;
use rustix::process::Signal;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The file, and the URL of its lock.
fn lock(env: &TestEnv) -> (PathBuf, String) {
    let path = env.path("backup");
    let url = format!("flock:{}?tokens={}", path.display(), env.path("locks").display());
    (path, url)
}

fn flock(env: &TestEnv, args: &[&str]) -> Command {
    let mut command = env.anywhere("flock".as_ref());
    command.args(args);
    command
}

#[test]
fn cotter_keeps_flock_out() {
    let env = TestEnv::new();
    let (path, url) = lock(&env);
    let script = "echo $COTTER_TOKEN; read line";
    let mut first = env.start(["--url", &url, "run", "backup", "--", "sh", "-c", script]);
    let older: u64 = first.line().parse().unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(flock(&env, &["-n", path, "true"]).status().unwrap().code(), Some(1));
    let idiom = format!("exec 9>{path}; flock -n 9 || exit 7");
    assert_eq!(env.anywhere("sh".as_ref()).args(["-c", &idiom]).status().unwrap().code(), Some(7));
    env.run(["--url", &url, "run", "-n", "any other name", "true"]).code(75);
    first.let_go().code(0);
    assert_eq!(flock(&env, &["-n", path, "true"]).status().unwrap().code(), Some(0));
    let newer = env.run(["--url", &url, "run", "backup", "--", "sh", "-c", "echo $COTTER_TOKEN"]).code(0);
    assert!(newer.stdout.trim().parse::<u64>().unwrap() > older);
}

#[test]
fn flock_keeps_cotter_out() {
    for idiom in ["flock \"$0\" sh -c 'echo in; read line'", "exec 9>\"$0\"; flock 9; echo in; read line"] {
        let env = TestEnv::new();
        let (path, url) = lock(&env);
        let mut sh = env.anywhere("sh".as_ref());
        let mut first = Running::start(sh.args(["-c", idiom, path.to_str().unwrap()]));
        assert_eq!(first.line(), "in");
        env.run(["--url", &url, "run", "-n", "backup", "true"]).code(75);
        let mut second = env.start(["--url", &url, "run", "-v", "backup", "--", "echo", "ran"]);
        assert!(second.waiting_line().starts_with("waiting for backup"));
        first.write("\n");
        assert_eq!(second.line(), "ran");
        second.end().code(0);
        first.end().code(0);
    }
}

#[test]
fn cotter_and_flock_never_run_at_once() {
    let env = TestEnv::new();
    let (path, url) = lock(&env);
    let (path, log) = (path.to_str().unwrap(), env.path("log"));
    let script = "echo in >> \"$0\"; sleep 0.01; echo out >> \"$0\"";
    let mut runs = Vec::new();
    for _ in 0..6 {
        let args = ["--url", &url, "run", "-q", "backup", "--", "sh", "-c", script, log.to_str().unwrap()];
        runs.push(env.start(args));
        runs.push(Running::start(&mut flock(&env, &[path, "sh", "-c", script, log.to_str().unwrap()])));
    }
    for run in runs {
        run.end().code(0);
    }
    assert_eq!(fs::read_to_string(&log).unwrap(), "in\nout\n".repeat(12));
}

#[test]
fn nothing_is_written_into_the_file_or_beside_it() {
    let env = TestEnv::new();
    let (_, url) = lock(&env);
    let directory = env.path("jobs");
    fs::create_dir(&directory).unwrap();
    let path = directory.join("backup");
    fs::write(&path, "old text").unwrap();
    let url = url.replace("/backup?", "/jobs/backup?");
    env.run(["--url", &url, "run", "backup", "true"]).code(0).silent();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old text");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
}

#[test]
fn the_lock_outlives_a_cotter_that_is_killed_until_the_command_is_gone() {
    let env = TestEnv::new();
    let (path, url) = lock(&env);
    let script = "trap '' TERM; echo $$; while :; do sleep 0.1; done";
    let mut first = env.start(["--url", &url, "run", "--ttl", "1s", "backup", "--", "sh", "-c", script]);
    let ward = first.ward();
    first.signal(Signal::KILL);
    assert!(flock(&env, &[path.to_str().unwrap(), "true"]).status().unwrap().success());
    assert!(!is_alive(ward));
}

#[test]
fn a_file_that_is_deleted_is_a_lock_that_is_lost() {
    let env = TestEnv::new();
    let (path, url) = lock(&env);
    let mut first =
        env.start(["--url", &url, "run", "--ttl", "600ms", "backup", "--", "sh", "-c", "echo $$; sleep 600"]);
    let ward = first.ward();
    fs::remove_file(&path).unwrap();
    first.end().code(74);
    until("it is gone", || !is_alive(ward));
}

#[test]
fn what_it_cannot_do_is_said() {
    let env = TestEnv::new();
    let (_, url) = lock(&env);
    env.run(["--url", "flock:backup", "run", "a", "true"])
        .code(78)
        .one_line(&["absolute path", "flock:/var/lock"]);
    env.run(["--url", &url.replace("/backup?", "/no/backup?"), "run", "a", "true"])
        .code(78)
        .one_line(&["/no/backup"]);
    env.run(["--url", &url, "run", "--slot", "x", "a", "true"]).code(64);
}

/// Whoever it is, cotter or not: the kernel knows.
#[test]
fn who_holds_it_is_shown() {
    let env = TestEnv::new();
    let (path, url) = lock(&env);
    env.run(["--url", &url, "show", "-q", "backup"]).code(1);
    let mut sh = env.anywhere("sh".as_ref());
    let mut holder =
        Running::start(sh.args(["-c", "exec 9>\"$0\"; flock 9; echo in; read line", path.to_str().unwrap()]));
    assert_eq!(holder.line(), "in");
    let pid = holder.pid().as_raw_nonzero().get().to_string();
    let shown = env.run(["--url", &url, "show", "backup"]).code(0);
    assert!(shown.stdout.contains(&pid), "{shown:?}");
    // Its table has no room for numbers of processes.
    let listed = env.run(["--url", &url, "--json", "list"]).code(0);
    assert!(listed.stdout.contains(&pid), "{listed:?}");
    env.run(["--url", &url, "evict", "backup"]).code(75).one_line(&[&format!("kill {pid}")]);
    let output = env.run(["--url", &url, "doctor"]).code(0);
    assert!(output.stdout.contains("flock(1)") && output.stdout.contains("tokens"), "{output:?}");
    holder.let_go().code(0);
}

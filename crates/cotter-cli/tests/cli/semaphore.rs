//! So many at a time.

use crate::env::{Running, TestEnv};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::until;
use rustix::process::Signal;

#[test]
fn as_many_run_as_there_are_permits_and_the_next_waits() {
    let env = TestEnv::new();
    let (first, older) = env.hold(&["--limit", "3", "--label", "one"], "a");
    let (second, newer) = env.hold(&["--limit", "3", "--take", "2", "--label", "two"], "a");
    assert!(newer > older);
    let busy = env.run(["run", "-n", "--limit", "3", "a", "true"]).code(75);
    busy.one_line(&["a is held by ", "(one) for ", " and one other (3 of 3 permits taken); gave up"]);
    let mut next = env.start(["run", "-v", "--limit", "3", "a", "--", "sh", "-c", "echo $COTTER_TOKEN"]);
    let line = next.waiting_line();
    assert!(line.starts_with("waiting for a, 3 of 3 permits taken, held by "), "{line}");
    assert!(line.ends_with(" and one other, next in queue"), "{line}");
    first.let_go().code(0).silent();
    assert!(next.line().parse::<u64>().unwrap() > newer);
    next.end().code(0);
    second.let_go().code(0).silent();
    env.run(["run", "-n", "--limit", "3", "--take", "3", "a", "true"]).code(0).silent();
}

#[test]
fn list_and_show_tell_how_many_are_taken() {
    let env = TestEnv::new();
    list_and_show(&env);
}

#[test]
#[ignore = "needs redis-server"]
fn list_and_show_tell_how_many_are_taken_on_redis() {
    let redis = Redis::start();
    list_and_show(&TestEnv::on(redis.url("")));
}

fn list_and_show(env: &TestEnv) {
    let (first, older) = env.hold(&["--limit", "4", "--label", "one"], "a");
    let (second, newer) = env.hold(&["--limit", "4", "--take", "2", "--label", "two"], "a");
    let (other, _) = env.hold(&[], "b");
    let list = env.run(["list"]).code(0).silent().stdout;
    let lines: Vec<Vec<&str>> = list.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(lines.len(), 4, "{list}");
    assert_eq!(lines[0].last(), Some(&"PERMITS"), "{list}");
    assert!(lines[1].contains(&"(one)") && lines[1].last() == Some(&"3/4"), "{list}");
    assert!(list.contains("  1 permit  ") && list.contains("  2 permits  "), "{list}");
    assert!(lines[3][0] == "b" && lines[3].last() == Some(&"-"), "{list}");
    let text = env.run(["show", "a"]).code(0).silent().stdout;
    for part in ["permits     3 of 4 taken", "mode        1 permit\n", "mode        2 permits\n"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let json = env.run(["show", "--json", "a"]).code(0).json();
    assert_eq!(json[0]["permits"], serde_json::json!({"taken": 3, "limit": 4}));
    for (at, (run, token, permits)) in [(&first, older, 1), (&second, newer, 2)].into_iter().enumerate() {
        let holder = &json[0]["holders"][at];
        assert_eq!((&holder["mode"], &holder["permits"]), (&"permits".into(), &permits.into()));
        assert_eq!(holder["token"], token.to_string());
        if env.store.is_none() {
            assert_eq!(holder["pid"], pid(run));
        }
    }
    if env.store.is_none() {
        let evict = env.run(["evict", "--token", &newer.to_string(), "a"]).code(75);
        evict.one_line(&[&format!("kill {}", pid(&second))]);
    }
    for run in [first, second, other] {
        run.let_go().code(0);
    }
    assert_eq!(env.run(["list"]).code(0).stdout, "");
}

fn pid(run: &Running) -> i32 {
    run.pid().as_raw_nonzero().get()
}

#[test]
fn who_says_another_limit_or_uses_it_as_a_lock_is_refused() {
    let env = TestEnv::new();
    let report = env.path("report");
    let (held, _) = env.hold(&["--limit", "5"], "a");
    let report_to = report.display().to_string();
    let other = env.run(["run", "--limit", "10", "--report", &report_to, "a", "true"]).code(65);
    other.one_line(&["\"a\"", "a semaphore of 5, not as a semaphore of 10"]);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert_eq!((&report["outcome"], &report["code"]), (&"failed".into(), &65.into()));
    env.run(["run", "a", "true"]).code(65).one_line(&["a semaphore of 5, not as a lock"]);
    env.run(["run", "-s", "a", "true"]).code(65);
    held.let_go().code(0);
    let (lock, _) = env.hold(&[], "a");
    env.run(["run", "--limit", "5", "a", "true"]).code(65).one_line(&["a lock, not as a semaphore of 5"]);
    lock.let_go().code(0);
    env.run(["run", "--limit", "10", "a", "true"]).code(0);
}

#[test]
fn impossible_requests_are_wrong_usage() {
    let env = TestEnv::new();
    env.run(["run", "--limit", "3", "--take", "4", "a", "true"]).code(64).one_line(&["4 of 3 permits"]);
    for wrong in [
        &["run", "--limit", "0", "a", "true"][..],
        &["run", "--limit", "3", "--take", "0", "a", "true"],
        &["run", "--take", "2", "a", "true"],
        &["run", "--limit", "3", "--shared", "a", "true"],
        &["run", "--limit", "3", "--slot", "k", "a", "true"],
    ] {
        env.run(wrong).code(64);
    }
    let flock = format!("flock:{}", env.path("lock").display());
    let refused = env.run(["--url", &flock, "run", "--limit", "3", "a", "true"]).code(64);
    refused.one_line(&["semaphores", "flock"]);
}

/// Another permit may be free now, but not when as many runs as there are permits wait for a second one.
#[test]
fn a_run_inside_a_run_of_the_same_semaphore_is_refused() {
    let env = TestEnv::new();
    let script = "$cotter run --limit 3 a true";
    let mut command = env.cotter(["run", "--limit", "3", "a", "--", "sh", "-c", script]);
    let output = Running::start(command.env("cotter", env!("CARGO_BIN_EXE_cotter"))).end();
    output.code(64).one_line(&["\"a\"", "would be a deadlock"]);
}

/// The permits come back when the last process of the command has ended, however cotter ends.
#[test]
fn a_killed_run_gives_its_permits_back() {
    let env = TestEnv::new();
    let mut killed =
        env.start(["run", "--limit", "2", "--take", "2", "a", "--", "sh", "-c", "echo $$; exec sleep 600"]);
    let job = killed.ward();
    let mut next = env.start(["run", "-v", "--limit", "2", "a", "--", "sh", "-c", "echo $COTTER_TOKEN"]);
    assert!(next.waiting_line().contains("2 of 2 permits taken"));
    killed.signal(Signal::KILL);
    next.line();
    assert!(rustix::process::test_kill_process(job).is_err(), "the next began before the last had ended");
    next.end().code(0);
    until("nothing is listed", || env.run(["list"]).code(0).stdout.is_empty());
}

#[test]
fn the_help_tells_what_it_means() {
    let env = TestEnv::new();
    let help = env.run(["run", "--help"]).code(0).stdout;
    for part in ["--limit <N>", "at most N runs", "--take <K>", "all at once"] {
        assert!(help.contains(part), "{part} in {help}");
    }
    let doctor = env.run(["--json", "doctor"]).code(0).json();
    assert_eq!(doctor[0]["capabilities"]["permits"], true, "{doctor:?}");
}

//! Two at once: one waits, says for whom, and has its turn.

use crate::env::{Running, TestEnv, is_alive};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Proxy, Redis};
use cotter_testkit::timing::{Stopwatch, until};
use rustix::process::Signal;
use std::time::Duration;

#[test]
fn the_second_waits_says_for_whom_and_has_a_larger_token() {
    let env = TestEnv::new();
    let (first, older) = env.hold(&["--label", "deploy"], "orders:cleanup");
    let mut second = env.start(["run", "-v", "orders:cleanup", "--", "sh", "-c", "echo $COTTER_TOKEN"]);
    let line = second.waiting_line();
    let pid = first.pid().as_raw_nonzero();
    assert!(line.starts_with("waiting for orders:cleanup, held by "), "{line}");
    assert!(line.contains(&format!("/{pid} (deploy) for ")), "{line}");
    assert!(line.ends_with(", next in queue"), "{line}");
    first.let_go().code(0).silent();
    let newer: u64 = second.line().parse().unwrap();
    assert!(newer > older);
    let output = second.end().code(0);
    assert_eq!(output.stderr.matches("waiting for").count(), 1, "said once: {output:?}");
}

#[test]
fn a_short_wait_and_a_quiet_one_say_nothing() {
    let env = TestEnv::new();
    let (first, _) = env.hold(&[], "a");
    env.run(["run", "-q", "-w", "500ms", "a", "true"]).code(75).silent();
    env.run(["run", "-w", "50ms", "a", "true"]).code(75).one_line(&["gave up after 50 ms"]);
    first.let_go().code(0);
}

#[test]
fn no_wait_gives_up_at_once_and_names_the_holder() {
    let env = TestEnv::new();
    let (first, _) = env.hold(&["--label", "deploy"], "a");
    let begin = Stopwatch::start();
    let output = env.run(["run", "--no-wait", "a", "--", "echo", "ran"]).code(75);
    begin.at_most(Duration::from_secs(3), "it gives up");
    assert_eq!(output.stdout, "");
    output.one_line(&["a is held by ", "(deploy) for ", "gave up"]);
    env.run(["run", "-n", "-E", "9", "a", "true"]).code(9);
    env.run(["run", "-w", "10ms", "--busy-code", "0", "a", "true"]).code(0);
    env.run(["run", "-w", "0s", "a", "true"]).code(75);
    env.run(["run", "-n", "b", "true"]).code(0);
    first.let_go().code(0);
    env.run(["run", "-n", "a", "true"]).code(0);
}

/// A restart or a failover at the wrong moment costs a line of a crontab a wait, and not its run.
#[test]
#[ignore = "needs redis-server"]
fn a_store_that_is_away_at_the_start_is_waited_for() {
    let mut server = Redis::start();
    let env = TestEnv::on(server.url(""));
    server.kill();
    let away = "waiting for the store: ";
    let begin = Stopwatch::start();
    env.run(["run", "-n", "a", "true"]).code(69).one_line(&["cannot be reached"]);
    begin.at_most(Duration::from_secs(3), "it gives up");
    let begin = Stopwatch::start();
    let output = env.run(["run", "-w", "700ms", "a", "true"]).code(69);
    begin.at_least(Duration::from_millis(700), "it waits");
    demand(output.stderr.matches(away).count() == 1, Kind::Untrue, format!("said once: {output:?}"));
    assert_eq!(output.stderr.matches("cannot be reached").count(), 2, "and at the end: {output:?}");
    let mut waiting = [
        env.start(["run", "-w", "1m", "a", "--", "echo", "done"]),
        env.start(["run", "b", "--", "echo", "done"]),
        env.start(["elect", "-w", "1m", "c", "--", "echo", "done"]),
        env.start(["acquire", "-w", "1m", "--ttl", "10s", "d"]),
    ];
    for process in &mut waiting {
        let line = process.error_line();
        assert!(line.contains(away), "{line}");
    }
    server.restart();
    for process in waiting {
        assert!(!process.end().code(0).stdout.is_empty());
    }
}

#[test]
fn a_wait_that_is_long_enough_ends_with_the_lock() {
    let env = TestEnv::new();
    let (first, _) = env.hold(&[], "a");
    let mut second = env.start(["run", "-v", "-w", "1m", "a", "--", "echo", "ran"]);
    second.waiting_line();
    first.let_go().code(0);
    assert_eq!(second.end().code(0).stdout, "ran\n");
}

#[test]
fn many_at_once_run_one_after_the_other() {
    let env = TestEnv::new();
    let file = env.path("log");
    let script = "echo in >> $0; echo out >> $0";
    let start = |_| env.start(["run", "-q", "a", "--", "sh", "-c", script, file.to_str().unwrap()]);
    let runs: Vec<_> = (0..8).map(start).collect();
    for run in runs {
        run.end().code(0).silent();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "in\nout\n".repeat(8));
}

#[test]
fn the_next_has_its_turn_when_the_wrapper_of_the_holder_is_killed() {
    let env = TestEnv::new();
    let mut first = env.start(["run", "a", "--", "sh", "-c", "echo $$; exec sleep 600"]);
    let command = first.ward();
    let mut second = env.start(["run", "-v", "a", "--", "echo", "ran"]);
    second.waiting_line();
    first.signal(Signal::KILL);
    assert_eq!(second.line(), "ran");
    second.end().code(0);
    drop(first);
    until("the command is gone", || !is_alive(command));
}

/// Such as a cron job, whose owner gets a mail of everything that is said.
#[test]
fn who_merely_waits_says_nothing_where_there_is_no_terminal() {
    let env = TestEnv::new();
    let (first, _) = env.hold(&[], "a");
    let second = env.start(["run", "a", "--", "echo", "ran"]);
    until("it waits", || env.run(["show", "--json", "a"]).code(0).json()[0]["waiters"] == 1);
    std::thread::sleep(Duration::from_millis(600));
    first.let_go().code(0);
    assert_eq!(second.end().code(0).silent().stdout, "ran\n");
}

#[test]
#[ignore = "needs redis-server"]
fn a_store_that_does_not_answer_is_told_of_once() {
    let redis = Redis::start();
    let env = TestEnv::new();
    let proxy = Proxy::start(redis.port());
    let mut first = env.cotter(["run", "a", "--", "sh", "-c", "echo in; read line"]);
    let mut first = Running::start(first.env("COTTER_URL", redis.url("")));
    assert_eq!(first.line(), "in");
    let mut second = env.cotter(["run", "a", "--", "echo", "ran"]);
    let mut second = Running::start(second.env("COTTER_URL", proxy.redis_url("timeout=500ms")));
    until("it waits", || redis.command(&["ZCARD", "cotter:{a}:q"]) == "1");
    proxy.freeze(true);
    let line = second.error_line();
    assert!(line.starts_with("cotter: waiting for a: the store does not answer: "), "{line}");
    std::thread::sleep(Duration::from_secs(6));
    proxy.freeze(false);
    first.let_go().code(0);
    let output = second.end().code(0);
    assert_eq!((&*output.stdout, output.stderr.lines().count()), ("ran\n", 1), "{output:?}");
}

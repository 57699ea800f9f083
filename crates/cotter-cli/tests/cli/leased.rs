//! Commands under leases of a real Redis, whose wrapper is stopped, cut off and killed.

use crate::env::{Running, TestEnv, is_alive};
use cotter_testkit::servers::{Proxy, Redis};
use cotter_testkit::sized;
use cotter_testkit::timing::{Stopwatch, until};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Says who it is, does not hear TERM, writes all the time, and so does another that has left its session.
const WRITER: &str = "trap '' TERM; echo $$; setsid sh -c 'while :; do echo old; done' >> \"$0\" 2>&- & \
                      while :; do echo old; done >> \"$0\" 2>&-";

fn holder(env: &TestEnv, url: &str, ttl: &str, script: &str, log: &Path) -> Running {
    let args = ["--url", url, "run", "--ttl", ttl, "a", "--", "sh", "-c", script, log.to_str().unwrap()];
    let mut run = env.start(args);
    run.ward();
    until("it writes", || fs::metadata(log).is_ok_and(|m| m.len() > 0));
    run
}

fn next(env: &TestEnv, url: &str, log: &Path) -> Running {
    let script = "echo new >> \"$0\"";
    env.start(["--url", url, "run", "-q", "a", "--", "sh", "-c", script, log.to_str().unwrap()])
}

/// Nothing was written beside or after the next one.
#[track_caller]
fn assert_alone(log: &Path, when: &str) {
    std::thread::sleep(Duration::from_millis(20));
    let text = fs::read_to_string(log).unwrap();
    let (before, after) = text.split_once("new\n").expect("the next one has run");
    assert!(
        before.ends_with("old\n") && after.is_empty(),
        "{when}: {} lines too late",
        after.lines().count()
    );
}

/// What happens to the wrapper for three ttl.
fn chaos(is_stopped: bool, is_cut_off: bool) {
    let redis = Redis::start();
    let proxy = Proxy::start(redis.port());
    let (env, ttl) = (TestEnv::new(), Duration::from_secs(3));
    let log = env.path("log");
    let run = holder(&env, &proxy.redis_url(""), "3s", WRITER, &log);
    let command = run.wards[0];
    let second = next(&env, &redis.url(""), &log);
    // The lease that counts was given at the latest now.
    let begin = Stopwatch::start();
    proxy.freeze(is_cut_off);
    if is_stopped {
        run.signal(Signal::STOP);
    }
    until("the command is gone", || !is_alive(command));
    begin.at_most(ttl, "the command is gone before the lease");
    second.end().code(0);
    assert_alone(&log, "during the fault");
    std::thread::sleep((3 * ttl).saturating_sub(begin.elapsed()));
    proxy.freeze(false);
    if is_stopped {
        run.signal(Signal::CONT);
    }
    let output = run.end().code(74);
    assert!(output.stderr.contains("the command was stopped"), "{output:?}");
    assert_alone(&log, "after it");
}

#[test]
#[ignore = "needs redis-server"]
fn the_wrapper_is_stopped_for_three_ttl() {
    chaos(true, false);
}

#[test]
#[ignore = "needs redis-server"]
fn the_store_is_silent_for_three_ttl() {
    chaos(false, true);
}

#[test]
#[ignore = "needs redis-server"]
fn the_wrapper_is_stopped_and_the_store_is_silent_for_three_ttl() {
    chaos(true, true);
}

/// The shim of this `cotter`.
fn shim(run: &Running) -> Pid {
    let cotter = run.pid().as_raw_nonzero();
    let children = fs::read_to_string(format!("/proc/{cotter}/task/{cotter}/children")).unwrap();
    Pid::from_raw(children.trim().parse().expect("one child")).unwrap()
}

/// One that forks all the time: every link of the chain writes, starts the next one in its session, and ends.
const CHAIN: &str = "echo $$; setsid sh -c 'echo \"echo old >> \\\"\\$1\\\"; setsid sh \\\"\\$0\\\" \\\"\\$1\\\" & exit\" > \"$0.sh\"; \
                     exec sh \"$0.sh\" \"$0\"' \"$0\" 2>&- >&- & sleep 600 2>&- >&-";

/// Two that leave and wait.
const SLEEPER: &str = "echo $$; (while :; do echo old; sleep 0.01; done) >> \"$0\" 2>&- & setsid sleep 60 >&- 2>&- & sleep 60 2>&- >&-";

#[test]
#[ignore = "needs redis-server"]
fn the_next_one_starts_after_the_last_write_whoever_is_killed() {
    let redis = Redis::start();
    let rounds = sized(24, 200);
    let rounds_of = |thread: usize| (0..rounds).filter(move |round| round % 3 == thread);
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let url = redis.url(&format!("prefix=cotter:t{thread}"));
            scope.spawn(move || {
                for round in rounds_of(thread) {
                    let env = TestEnv::new();
                    let log = env.path("log");
                    let run = holder(&env, &url, "2s", [WRITER, CHAIN, SLEEPER][thread], &log);
                    let second = next(&env, &url, &log);
                    let victim = if round % 2 == 0 { "cotter" } else { "the shim" };
                    kill_process(if round % 2 == 0 { run.pid() } else { shim(&run) }, Signal::KILL).unwrap();
                    second.end().code(0);
                    let when = format!("round {round}, {victim} was killed");
                    assert_alone(&log, &when);
                    assert!(run.wards.iter().all(|ward| !is_alive(*ward)), "{when}");
                }
            });
        }
    });
}

//! Schedulers on a real Redis, stopped and cut off while they run a command.

use super::{event, once, printed};
use crate::env::{Running, TestEnv, is_alive};
use cotter_testkit::servers::{Proxy, Redis};
use cotter_testkit::timing::{Stopwatch, until};
use rustix::process::{Pid, Signal};
use std::fs;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(3);

/// The first attempt does not hear TERM and writes all the time; the second one writes one line.
fn job(env: &TestEnv) -> String {
    let log = env.path("log");
    let script = format!(
        "exec >> {}; [ $COTTER_ATTEMPT = 2 ] && echo new && exit; trap \"\" TERM; echo $$ > {}; \
         while :; do echo old; done",
        log.display(),
        env.path("pid").display()
    );
    format!("[defaults]\nttl = \"3s\"\non_crash = \"rerun\"\n{}", once("a", &script))
}

fn start(env: &TestEnv, url: &str) -> Running {
    let path = env.path("jobs.toml");
    let mut command = env.cotter(["--json", "schedule", path.to_str().unwrap()]);
    Running::start(command.env("COTTER_URL", url))
}

fn chaos(is_stopped: bool, is_cut_off: bool) {
    let redis = Redis::start();
    let proxy = Proxy::start(redis.port());
    let env = TestEnv::new();
    env.jobs(&job(&env));
    let mut first = start(&env, &proxy.redis_url(""));
    let pid = || fs::read_to_string(env.path("pid")).ok()?.trim().parse().ok().and_then(Pid::from_raw);
    until("the command runs", || pid().is_some());
    let command = pid().unwrap();
    first.wards.push(command);
    let mut second = start(&env, &redis.url(""));
    let begin = Stopwatch::start();
    proxy.freeze(is_cut_off);
    if is_stopped {
        first.signal(Signal::STOP);
    }
    until("the command is gone", || !is_alive(command));
    begin.at_most(TTL, "the command is gone before the lease");
    assert_eq!(event(&mut second, "crashed")["again"], true);
    assert_eq!(event(&mut second, "ended")["outcome"], "ok");
    std::thread::sleep((3 * TTL).saturating_sub(begin.elapsed()));
    proxy.freeze(false);
    if is_stopped {
        first.signal(Signal::CONT);
    }
    let ended = event(&mut first, "ended");
    assert_eq!(ended["outcome"], "lost", "{ended}");
    for run in [first, second] {
        run.signal(Signal::TERM);
        run.end().code(0);
    }
    let text = fs::read_to_string(env.path("log")).unwrap();
    let end = &text[text.len().saturating_sub(60)..];
    assert!(text.ends_with("old\nnew\n") && text.matches("new").count() == 1, "{end:?}");
}

#[test]
#[ignore = "needs redis-server"]
fn a_scheduler_is_stopped_for_three_ttl() {
    chaos(true, false);
}

#[test]
#[ignore = "needs redis-server"]
fn the_store_is_silent_for_three_ttl() {
    chaos(false, true);
}

#[test]
#[ignore = "needs redis-server"]
fn the_store_comes_after_the_scheduler() {
    let mut redis = Redis::start();
    redis.kill();
    let env = TestEnv::new();
    env.jobs(&once("a", "true"));
    let mut run = start(&env, &redis.url(""));
    event(&mut run, "store_down");
    run.signal(Signal::HUP);
    redis.restart();
    event(&mut run, "store_back");
    assert_eq!(event(&mut run, "ended")["outcome"], "ok");
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
#[ignore = "needs redis-server"]
fn the_store_is_down_at_a_slot_and_comes_back() {
    let mut redis = Redis::start();
    let env = TestEnv::new();
    env.jobs("[job.a]\nfixed_rate = \"200ms\"\nttl = \"1s\"\nmisfire = \"once\"\nshell = \"echo ran\"\n");
    let mut run = start(&env, &redis.url("timeout=500ms"));
    printed(&mut run);
    redis.kill();
    event(&mut run, "store_down");
    redis.restart();
    event(&mut run, "store_back");
    // It was without persistence: the first start ever, as far as the store knows.
    event(&mut run, "started");
    run.signal(Signal::TERM);
    run.end().code(0);
}

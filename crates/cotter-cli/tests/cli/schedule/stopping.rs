//! Signals: the end of a scheduler, and its file read again.

use super::{event, once, printed};
use crate::env::{Running, TestEnv, is_alive};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::Stopwatch;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::fs;
use std::time::Duration;

#[test]
fn what_runs_may_end_and_nothing_new_starts() {
    let env = TestEnv::new();
    let rate = "[job.b]\nfixed_rate = \"10ms\"\nshell = \"sleep 0.3; echo b\"\n";
    let mut run = env.schedule(&[&once("a", "echo a; sleep 1; echo done"), rate].concat());
    while printed(&mut run) != "a" {}
    run.signal(Signal::TERM);
    let output = run.end().code(0).silent();
    let (before, after) = output.stdout.split_once("stopping: no more runs").expect("it is told");
    let done = "\"line\":\"done\"";
    assert!(after.contains(done) && !before.contains(done), "{output:?}");
    assert!(!after.contains("\"event\":\"started\""), "{output:?}");
}

#[test]
fn when_the_grace_is_over_commands_are_stopped() {
    let env = TestEnv::new();
    let script = "trap 'echo told; exit 0' TERM; echo $$; while :; do sleep 0.05; done";
    let text = ["grace = \"200ms\"\n[defaults]\nttl = \"1s\"\n", &once("a", script)].concat();
    let mut run = env.schedule(&text);
    let pid = Pid::from_raw(printed(&mut run).parse().unwrap()).unwrap();
    run.wards.push(pid);
    let begin = Stopwatch::start();
    run.signal(Signal::TERM);
    assert_eq!(printed(&mut run), "told");
    begin.at_least(Duration::from_millis(200), "the grace");
    let ended = event(&mut run, "ended");
    assert_eq!((&ended["outcome"], &ended["reason"]), (&"stopped".into(), &Value::Null));
    run.end().code(0);
    assert!(!is_alive(pid));
    let history = env.run(["--json", "jobs", "--group", "g", "history", "a"]).code(0).json();
    assert_eq!(history[0]["outcome"], "stopped");
}

#[test]
fn a_job_may_have_a_longer_grace_than_the_file() {
    let env = TestEnv::new();
    let own = "grace = \"60s\"\n";
    let text = ["grace = \"100ms\"\n[defaults]\nttl = \"1s\"\n", &once("a", "echo a; sleep 1"), own].concat();
    let mut run = env.schedule(&text);
    while printed(&mut run) != "a" {}
    run.signal(Signal::TERM);
    assert_eq!(event(&mut run, "ended")["outcome"], "ok");
    run.end().code(0);
}

/// What a deploy has cut is run again by the next scheduler, for the same slot.
#[test]
fn a_run_that_was_stopped_is_run_again_if_the_file_says_so() {
    let env = TestEnv::new();
    let once = once("a", "echo $COTTER_ATTEMPT; [ $COTTER_ATTEMPT = 2 ] || sleep 600");
    let text = ["grace = \"100ms\"\n[defaults]\nttl = \"1s\"\non_stop = \"rerun\"\n", &once].concat();
    let mut run = env.schedule(&text);
    assert_eq!(printed(&mut run), "1");
    run.signal(Signal::TERM);
    let ended = event(&mut run, "ended");
    assert_eq!((&ended["outcome"], &ended["last"]), (&"stopped".into(), &Value::Bool(false)));
    run.end().code(0);
    let mut run = env.schedule(&text);
    assert_eq!(printed(&mut run), "2");
    let again = event(&mut run, "ended");
    assert_eq!((&again["outcome"], &again["slot"]), (&"ok".into(), &ended["slot"]));
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn within_the_grace_nothing_is_stopped_whatever_the_ttl() {
    let env = TestEnv::new();
    let mark = env.path("mark");
    let script = format!("echo a; while [ ! -e {} ]; do sleep 0.05; done; echo done", mark.display());
    // The time that a command with a ttl of 30 s has to stop is longer than this.
    let mut run = env.schedule(&["grace = \"5s\"\n", &once("a", &script)].concat());
    assert_eq!(printed(&mut run), "a");
    run.signal(Signal::TERM);
    while !event(&mut run, "remark").to_string().contains("stopping: no more runs") {}
    std::thread::sleep(Duration::from_millis(300));
    fs::write(mark, "").unwrap();
    assert_eq!(printed(&mut run), "done");
    assert_eq!(event(&mut run, "ended")["outcome"], "ok");
    run.end().code(0);
}

#[test]
fn a_lock_that_lives_with_the_process_is_kept_for_at_least_until_the_grace_is_over() {
    let env = TestEnv::new();
    let mut run = env.schedule(&[once("a", "true"), "at_least = \"1h\"\n".into()].concat());
    event(&mut run, "ended");
    run.signal(Signal::TERM);
    let stays = event(&mut run, "draining");
    assert!(stays["rest_ms"].as_u64().unwrap() > 3_000_000, "{stays}");
    env.run(["run", "-n", "g/a", "true"]).code(75);
    run.signal(Signal::TERM);
    run.end().code(0);
    env.run(["run", "-n", "g/a", "true"]).code(0);
}

#[test]
fn the_second_signal_kills_at_once() {
    let env = TestEnv::new();
    let script = "trap '' TERM; echo $$; while :; do sleep 0.05; done";
    let mut run = env.schedule(&once("a", script));
    let pid = Pid::from_raw(printed(&mut run).parse().unwrap()).unwrap();
    run.wards.push(pid);
    run.signal(Signal::TERM);
    while !event(&mut run, "remark").to_string().contains("stopping: no more runs") {}
    let begin = Stopwatch::start();
    run.signal(Signal::INT);
    run.end().code(0);
    begin.at_most(Duration::from_secs(10), "the second signal kills");
    assert!(!is_alive(pid));
    env.run(["run", "-n", "g/a", "true"]).code(0);
}

#[test]
fn max_run_stops_a_command() {
    let env = TestEnv::new();
    let script = "trap '' TERM; echo $$; while :; do sleep 0.05; done";
    let text = [&once("a", script), "ttl = \"1s\"\nmax_run = \"300ms\"\n"].concat();
    let mut run = env.schedule(&text);
    let pid = Pid::from_raw(printed(&mut run).parse().unwrap()).unwrap();
    run.wards.push(pid);
    assert_eq!(event(&mut run, "ended")["outcome"], "timed out");
    assert!(!is_alive(pid));
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn a_hang_up_reads_the_file_again() {
    let env = TestEnv::new();
    let mut run = env.schedule(&once("a", "echo a; sleep 1; echo a-ends"));
    assert_eq!(printed(&mut run), "a");
    env.jobs("wrokers = 3\n[job.b]\n");
    run.signal(Signal::HUP);
    let warning = event(&mut run, "warning").to_string();
    assert!(warning.contains("line 2: unknown key `wrokers`"), "{warning}");
    while !event(&mut run, "warning").to_string().contains("the jobs are unchanged") {}
    env.jobs(&["workers = 3\n", &once("b", "echo b")].concat());
    run.signal(Signal::HUP);
    let warning = event(&mut run, "warning").to_string();
    assert!(warning.contains("`workers` has changed, which needs a restart"), "{warning}");
    let mut rest = [printed(&mut run), printed(&mut run)];
    rest.sort();
    assert_eq!(rest, ["a-ends", "b"], "the run of the old file goes on");
    run.signal(Signal::TERM);
    run.end().code(0);
}

/// As under nohup(1): the file is not read again, and nothing ends.
#[test]
fn a_hang_up_that_is_ignored_from_the_start_stays_ignored() {
    let env = TestEnv::new();
    let often = |what: &str| format!("[job.a]\nfixed_rate = \"100ms\"\nshell = \"echo {what}\"\n");
    env.jobs(&often("old"));
    let mut nohup = env.anywhere("env".as_ref());
    nohup.args(["--ignore-signal=HUP", env!("CARGO_BIN_EXE_cotter"), "--json", "schedule"]);
    let mut run = Running::start(nohup.arg(env.path("jobs.toml")).env("COTTER_URL", env.url()));
    assert_eq!(printed(&mut run), "old");
    env.jobs(&often("new"));
    run.signal(Signal::HUP);
    for _ in 0..10 {
        assert_eq!(printed(&mut run), "old");
    }
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn a_file_that_takes_its_time_to_be_read_holds_up_nothing() {
    let env = TestEnv::new();
    let mut run = env.schedule("[job.a]\nfixed_rate = \"200ms\"\nshell = \"echo a\"\n");
    assert_eq!(printed(&mut run), "a");
    let path = env.path("jobs.toml");
    fs::remove_file(&path).unwrap();
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    run.signal(Signal::HUP);
    for _ in 0..3 {
        assert_eq!(printed(&mut run), "a");
    }
    env.jobs(&once("b", "echo b"));
    while printed(&mut run) != "b" {}
    stops_soon_after_a_hang_up(run);
}

/// The scheduler is connected, and waits for the store before it takes orders for the first time.
#[test]
#[ignore = "needs redis-server"]
fn a_hang_up_in_an_outage_does_not_hold_up_the_stop() {
    let (env, redis) = (TestEnv::new(), Redis::start());
    redis.command(&["CLIENT", "PAUSE", "30000", "WRITE"]);
    let mut run = env.schedule(&format!("url = {:?}\n{}", redis.url(""), once("a", "echo a")));
    event(&mut run, "remark");
    stops_soon_after_a_hang_up(run);
}

/// A hang-up that cannot be carried out at the moment does not hold up the stop.
#[track_caller]
fn stops_soon_after_a_hang_up(run: Running) {
    run.signal(Signal::HUP);
    std::thread::sleep(Duration::from_millis(300));
    let told = Stopwatch::start();
    run.signal(Signal::TERM);
    run.end().code(0);
    told.at_most(Duration::from_secs(10), "it stops");
}

//! Signals: the end of a scheduler, and its file read again.

use super::{event, once, printed};
use crate::env::{TestEnv, is_alive};
use rustix::process::{Pid, Signal};
use std::time::{Duration, Instant};

#[test]
fn what_runs_may_end_and_nothing_new_starts() {
    let env = TestEnv::new();
    let rate = "[job.b]\nfixed_rate = \"10ms\"\nshell = \"sleep 0.3; echo b\"\n";
    let mut run = env.schedule(&[&once("a", "echo a; sleep 1; echo done"), rate].concat());
    while printed(&mut run) != "a" {}
    run.signal(Signal::TERM);
    let output = run.end().code(0).silent();
    let (before, after) = output.stdout.split_once("stopping: no more runs").expect("it is told");
    assert!(after.contains("\ndone\n") && !before.contains("\ndone\n"), "{output:?}");
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
    run.signal(Signal::TERM);
    assert_eq!(printed(&mut run), "told");
    assert_eq!(event(&mut run, "ended")["reason"], "stopped with the scheduler");
    run.end().code(0);
    assert!(!is_alive(pid));
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
    let begin = Instant::now();
    run.signal(Signal::INT);
    run.end().code(0);
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
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

//! Nothing that came of the command outlives its lock, whoever is killed.

use crate::env::{Running, TestEnv, is_alive};
use cotter_testkit::sized;
use cotter_testkit::timing::until;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::time::{Duration, Instant};

/// The shim of this `cotter`.
fn shim(run: &Running) -> Pid {
    let cotter = run.pid().as_raw_nonzero();
    let children = fs::read_to_string(format!("/proc/{cotter}/task/{cotter}/children")).unwrap();
    Pid::from_raw(children.trim().parse().expect("one child")).unwrap()
}

/// A command that leaves its session, one that ignores TERM, and one that stays.
const THREE: &str = "exec 2>&-; setsid sh -c 'echo $$; exec sleep 600' >&1 & \
                     sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.1; done' & \
                     sleep 0.2; echo $$; sleep 600";

fn three(env: &TestEnv) -> (Running, Vec<Pid>) {
    let mut run = env.start(["run", "--ttl", "1s", "a", "--", "sh", "-c", THREE]);
    let wards = (0..3).map(|_| run.ward()).collect();
    (run, wards)
}

#[test]
fn cotter_is_killed() {
    let env = TestEnv::new();
    let (run, wards) = three(&env);
    run.signal(Signal::KILL);
    // The next one has its turn when the shim lets go of the lock.
    env.run(["run", "-q", "a", "true"]).code(0);
    assert!(wards.iter().all(|ward| !is_alive(*ward)));
}

#[test]
fn the_shim_is_killed() {
    let env = TestEnv::new();
    let (run, wards) = three(&env);
    kill_process(shim(&run), Signal::KILL).unwrap();
    let output = run.end().code(143);
    assert!(output.stderr.contains("the shim was killed"), "{output:?}");
    assert!(wards.iter().all(|ward| !is_alive(*ward)));
    env.run(["run", "-n", "a", "true"]).code(0);
}

#[test]
fn the_shim_is_stopped_and_the_command_has_to_end() {
    let env = TestEnv::new();
    let mut run = env.start(["run", "--ttl", "1s", "--max-hold", "500ms", "a", "--", "sh", "-c", THREE]);
    let wards: Vec<_> = (0..3).map(|_| run.ward()).collect();
    kill_process(shim(&run), Signal::STOP).unwrap();
    run.end().code(124);
    assert!(wards.iter().all(|ward| !is_alive(*ward)));
}

#[test]
fn the_command_ends_and_leaves_one_that_left_its_session() {
    let env = TestEnv::new();
    let script = "setsid sh -c 'echo $$; exec sleep 600' 2>&- & read line";
    let mut run = env.start(["run", "a", "--", "sh", "-c", script]);
    let ward = run.ward();
    run.write("\n");
    run.end().code(0).one_line(&["left a process running", "stopping it"]);
    assert!(!is_alive(ward));
}

#[test]
fn one_that_forks_all_the_time_does_not_get_away() {
    let env = TestEnv::new();
    let mark = env.path("mark");
    let forker = env.path("forker");
    // Every link of the chain starts the next one in a session of its own, and ends.
    fs::write(&forker, "echo x > \"$1\"; setsid sh \"$0\" \"$1\" & exit\n").unwrap();
    let script = "exec 2>&- >&-; sh \"$0\" \"$1\"; sleep 600";
    let (forker, mark) = (forker.to_str().unwrap(), mark.to_str().unwrap());
    for signal in [Signal::KILL, Signal::TERM] {
        let run = env.start(["run", "--ttl", "400ms", "a", "--", "sh", "-c", script, forker, mark]);
        until("the chain runs", || fs::metadata(mark).is_ok());
        run.signal(signal);
        env.run(["run", "-q", "a", "true"]).code(0);
        fs::remove_file(mark).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        assert!(fs::metadata(mark).is_err(), "somebody still writes");
    }
}

#[test]
fn the_next_one_starts_after_the_last_write() {
    for round in 0..sized(20, 200) {
        let env = TestEnv::new();
        let log = env.path("log");
        let script = "trap '' TERM; echo $$; setsid sh -c 'while :; do echo old; done' >> \"$0\" 2>&- & \
                      while :; do echo old; done >> \"$0\" 2>&-";
        let args = ["run", "--ttl", "300ms", "a", "--", "sh", "-c", script, log.to_str().unwrap()];
        let mut first = env.start(args);
        first.ward();
        let args = ["run", "-q", "a", "--", "sh", "-c", "echo new >> \"$0\"", log.to_str().unwrap()];
        let second = env.start(args);
        until("it writes", || fs::metadata(&log).is_ok_and(|m| m.len() > 0));
        first.signal(Signal::KILL);
        second.end().code(0);
        let end = Instant::now() + Duration::from_millis(5);
        while Instant::now() < end {
            let text = fs::read_to_string(&log).unwrap();
            assert!(
                text.ends_with("old\nnew\n"),
                "round {round}: {:?}",
                &text[text.len().saturating_sub(40)..]
            );
        }
    }
}

/// The usual gesture. The wrapper has the command in its own command line, too; the shim has not, and stops what the
/// pattern did not find before the next one starts.
#[test]
fn a_job_that_is_killed_by_pattern_leaves_nobody_beside_the_next_one() {
    let env = TestEnv::new();
    let log = env.path("log");
    let unique = format!("job-{}-of-a-test.sh", std::process::id());
    let job = env.path(&unique);
    // What does the work is another program, as python or rsync would be. It ends with the folder of this test at the latest.
    let log_name = log.display();
    let work = format!("trap \"\" TERM; while [ -e \"{log_name}\" ]; do echo old; done");
    fs::write(&job, format!("#!/bin/sh\necho ready\nexec >> '{log_name}'\nsh -c '{work}' & wait\n")).unwrap();
    fs::set_permissions(&job, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for round in 0..sized(20, 100) {
        let _ = fs::remove_file(&log);
        let mut first = env.start(["run", "--ttl", "300ms", "a", "--", job.to_str().unwrap()]);
        assert_eq!(first.line(), "ready");
        until("it writes", || fs::metadata(&log).is_ok_and(|m| m.len() > 0));
        let next =
            env.start(["run", "-q", "a", "--", "sh", "-c", "echo new >> \"$0\"", log.to_str().unwrap()]);
        let killed = env.anywhere("pkill".as_ref()).args(["-KILL", "-f", &unique]).status().unwrap();
        assert!(killed.success(), "the pattern finds the job");
        next.end().code(0);
        std::thread::sleep(Duration::from_millis(10));
        let text = fs::read_to_string(&log).unwrap();
        let end = &text[text.len().saturating_sub(40)..];
        assert!(end.ends_with("old\nnew\n"), "violation[overlap]: round {round}: {end:?}");
    }
}

#[test]
fn the_shim_is_called_neither_after_the_command_nor_after_cotter() {
    let env = TestEnv::new();
    let mut run = env.start(["run", "a-name", "--", "sh", "-c", "echo in; read a-word"]);
    assert_eq!(run.line(), "in");
    let told =
        |file: &str| fs::read_to_string(format!("/proc/{}/{file}", shim(&run).as_raw_nonzero())).unwrap();
    assert_eq!((&*told("comm"), &*told("cmdline")), ("lock-shim\n", "lock-shim\0__child\0"));
    run.write("\n");
    run.end();
}

//! `on_success` and `on_failure`.

use super::{event, once};
use crate::env::{TestEnv, is_alive};
use cotter_testkit::timing::until;
use rustix::process::{Pid, Signal};
use std::fs;

const TELL: &str = "on_success = \"echo $COTTER_JOB $COTTER_OUTCOME\"\n\
    on_failure = [\"sh\", \"-c\", \"echo $COTTER_JOB $COTTER_OUTCOME $COTTER_CODE attempt $COTTER_ATTEMPT: $COTTER_REASON [$COTTER_NAME]\"]\n";

/// The next line that a command which follows a run has printed.
#[track_caller]
fn told(run: &mut crate::env::Running) -> (String, String) {
    loop {
        let output = event(run, "output");
        if let Some(key) = output["of"].as_str() {
            return (key.to_owned(), output["line"].as_str().unwrap().to_owned());
        }
    }
}

#[test]
fn a_command_follows_the_last_attempt_and_not_the_others() {
    let env = TestEnv::new();
    let retries = "retries = 2\nretry_delay = \"10ms\"\n";
    let mut run = env.schedule(&[&once("a", "echo try; exit 4"), TELL, retries].concat());
    let failed = ("on_failure".to_owned(), "a failed 4 attempt 3: exit code 4 []".to_owned());
    assert_eq!(told(&mut run), failed);
    run.signal(Signal::TERM);
    let rest = run.end().code(0);
    assert!(!rest.stdout.contains("on_success"), "{rest:?}");
    let mut run = env.schedule(&[&once("b", "exit 0"), TELL].concat());
    assert_eq!(told(&mut run), ("on_success".to_owned(), "b ok".to_owned()));
    run.signal(Signal::TERM);
    run.end().code(0);
}

/// What a mail about the run needs.
#[test]
fn a_command_that_follows_has_output_arguments_host_and_duration() {
    let env = TestEnv::new();
    let log = env.path("log");
    let script = "echo \"$COTTER_OUTPUT\" > LOG; echo \"$COTTER_ARG_DAY $COTTER_HOST $COTTER_TOOK\"";
    let tell = format!("on_failure = '''{script}'''\n").replace("LOG", &log.display().to_string());
    let job = "[job.a]\ncron = \"0 0 0 1 1 ? 2099\"\nshell = \"echo before; echo of $COTTER_ARG_DAY >&2; exit 4\"\n";
    let mut run = env.schedule(&[job, &tell].concat());
    let trigger = || env.run(["jobs", "--group", "g", "trigger", "a", "DAY=monday"]).code;
    until("it is known", || trigger() == 0);
    let line = told(&mut run).1;
    let [day, host, took] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
    assert_eq!((day, host), ("monday", &*rustix::system::uname().nodename().to_string_lossy()));
    assert!(took.parse::<f64>().is_ok_and(|took| (0.0..3600.0).contains(&took)), "{took}");
    let output = fs::read_to_string(&log).unwrap();
    let mut output: Vec<_> = output.split_whitespace().collect();
    output.sort_unstable();
    assert_eq!(output, ["before", "monday", "of"]);
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn a_command_follows_a_crash_on_the_host_that_notices_it() {
    let env = TestEnv::new();
    let text = [&once("a", "echo go; sleep 600"), TELL].concat();
    let mut run = env.schedule(&text);
    super::printed(&mut run);
    run.signal(Signal::KILL);
    drop(run);
    let mut run = env.schedule(&text);
    assert_eq!(told(&mut run), ("on_failure".to_owned(), "a crashed attempt : []".to_owned()));
    run.signal(Signal::TERM);
    run.end().code(0);
}

/// Nobody else will tell that a deploy has cost a slot.
#[test]
fn a_command_follows_a_run_that_was_stopped_unless_it_is_run_again() {
    for (on_stop, wanted) in [("skip", true), ("rerun", false)] {
        let env = TestEnv::new();
        let stop = format!("on_stop = \"{on_stop}\"\n");
        let mut run = env
            .schedule(&["grace = \"50ms\"\n", &once("a", "echo go; exec sleep 600"), TELL, &stop].concat());
        super::printed(&mut run);
        run.signal(Signal::TERM);
        let rest = run.end().code(0);
        assert_eq!(rest.stdout.contains("a stopped attempt 1: []"), wanted, "{on_stop}: {rest:?}");
    }
}

#[test]
fn a_command_that_follows_ends_with_cotter_and_its_failure_is_told() {
    let env = TestEnv::new();
    let log = env.path("log");
    let hang = format!("on_success = \"echo $$ > {}; sleep 600\"\n", log.display());
    let mut run = env.schedule(&[&once("a", "exit 0"), hang.as_str()].concat());
    event(&mut run, "ended");
    let pid = || fs::read_to_string(&log).ok()?.trim().parse().ok().and_then(Pid::from_raw);
    until("it runs", || pid().is_some());
    run.signal(Signal::KILL);
    until("it is gone", || !is_alive(pid().unwrap()));
    let mut run = env.schedule(&[&once("b", "exit 0"), "on_success = \"exit 7\"\n"].concat());
    let warning = event(&mut run, "warning");
    assert_eq!((&warning["job"], &warning["message"]), (&"b".into(), &"on_success: exit code 7".into()));
    run.signal(Signal::TERM);
    run.end().code(0);
}

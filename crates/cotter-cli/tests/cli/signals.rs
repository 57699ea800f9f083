//! Signals reach the command, and end the wait for the lock.

use crate::env::{Running, TestEnv, is_alive, state};
use cotter_testkit::timing::until;
use rustix::process::Signal;

const ALL: [(Signal, &str); 6] = [
    (Signal::TERM, "TERM"),
    (Signal::INT, "INT"),
    (Signal::HUP, "HUP"),
    (Signal::QUIT, "QUIT"),
    (Signal::USR1, "USR1"),
    (Signal::USR2, "USR2"),
];

#[test]
fn signals_reach_the_whole_group() {
    for (signal, name) in ALL {
        let env = TestEnv::new();
        let inner = format!("trap \"echo {name}; exit 5\" {name}; echo ready; while :; do sleep 0.1; done");
        let outer = format!("trap : {name}; sh -c '{inner}'; exit $?");
        let mut run = env.start(["run", "a", "--", "sh", "-c", &outer]);
        assert_eq!(run.line(), "ready");
        run.signal(signal);
        assert_eq!(run.line(), name);
        run.end().code(5);
    }
}

#[test]
fn a_command_that_dies_of_a_signal_says_so_through_cotter() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::USR2, 140)] {
        let env = TestEnv::new();
        let mut run = env.start(["run", "a", "--", "sh", "-c", "echo $$; exec sleep 600"]);
        let pid = run.ward();
        run.signal(signal);
        run.end().code(code).silent();
        assert!(!is_alive(pid));
    }
}

#[test]
fn a_stopped_command_goes_on_to_see_that_it_should_end() {
    let env = TestEnv::new();
    let script = "trap 'echo told; exit 4' INT; echo $$; kill -STOP $$; while :; do sleep 0.1; done";
    let mut run = env.start(["run", "a", "--", "sh", "-c", script]);
    let pid = run.ward();
    until("the command has stopped itself", || state(pid) == Some('T'));
    run.signal(Signal::INT);
    assert_eq!(run.line(), "told");
    run.end().code(4);
}

#[test]
fn a_wait_is_ended_by_a_stop_signal_and_the_command_never_runs() {
    // A shell looks at whether it died of what is typed on a terminal; of that it says 130 and 131.
    for (signal, code) in [(Signal::INT, -2), (Signal::TERM, 143), (Signal::HUP, 129), (Signal::QUIT, -3)] {
        let env = TestEnv::new();
        let (first, _) = env.hold(&[], "a");
        let mut second = env.start(["run", "-v", "a", "--", "echo", "ran"]);
        second.waiting_line();
        second.signal(signal);
        assert_eq!(second.end().code(code).stdout, "");
        let list = env.run(["list", "--json"]).code(0).json();
        assert_eq!(list[0]["waiters"], 0, "left the queue");
        first.let_go().code(0);
    }
}

#[test]
fn other_signals_do_not_end_the_wait() {
    let env = TestEnv::new();
    let (first, _) = env.hold(&[], "a");
    let mut second = env.start(["run", "-v", "a", "--", "echo", "ran"]);
    second.waiting_line();
    second.signal(Signal::USR1);
    second.signal(Signal::USR2);
    first.let_go().code(0);
    assert_eq!(second.end().code(0).stdout, "ran\n");
}

#[test]
fn a_stop_signal_that_comes_together_with_the_lock_wins() {
    for _ in 0..3 {
        let env = TestEnv::new();
        let (first, _) = env.hold(&[], "a");
        let mut second = env.start(["run", "-v", "a", "--", "echo", "ran"]);
        second.waiting_line();
        second.signal(Signal::STOP);
        first.let_go().code(0);
        second.signal(Signal::TERM);
        second.signal(Signal::CONT);
        assert_eq!(second.end().code(143).stdout, "");
        env.run(["run", "-n", "a", "true"]).code(0);
    }
}

#[test]
fn what_is_ignored_from_the_start_stays_ignored() {
    let env = TestEnv::new();
    let cotter = env!("CARGO_BIN_EXE_cotter");
    let inner = "echo ready; read line; echo still here";
    let script = format!("trap '' HUP; exec {cotter} run a -- sh -c '{inner}'");
    let mut sh = env.anywhere("sh".as_ref());
    let mut run = Running::start(sh.args(["-c", &script]).env("COTTER_URL", env.url()));
    assert_eq!(run.line(), "ready");
    run.signal(Signal::HUP);
    run.write("\n");
    assert_eq!(run.line(), "still here");
    run.end().code(0);
}

/// Many servers and some scripts ignore CHLD, so that the kernel reaps their children.
#[test]
fn a_parent_that_ignores_the_end_of_children_costs_no_exit_code() {
    let env = TestEnv::new();
    let cotter = env!("CARGO_BIN_EXE_cotter");
    let ignoring = |script: &str| {
        let mut parent = env.anywhere("env".as_ref());
        parent.args(["--ignore-signal=CHLD", cotter, "run", "a", "--", "sh", "-c", script]);
        Running::start(parent.env("COTTER_URL", env.url())).end()
    };
    ignoring("sleep 0.2; exit 3").code(3);
    ignoring("kill -9 $$").code(137);
    let out = ignoring("grep SigIgn: /proc/self/status; (sleep 0.2; exit 4)");
    let mask =
        out.code(4).stdout.split_whitespace().last().map(|mask| u64::from_str_radix(mask, 16).unwrap());
    assert_eq!(mask.map(|mask| mask & 1 << 16), Some(0), "the command has the default action");
}

#[test]
fn a_command_may_survive_a_signal() {
    let env = TestEnv::new();
    let (go, script) = (
        env.path("go"),
        "trap 'echo told' TERM; echo ready; until [ -e \"$0\" ]; do sleep 0.1; done; exit 6",
    );
    let mut run = env.start(["run", "a", "--", "sh", "-c", script, go.to_str().unwrap()]);
    assert_eq!(run.line(), "ready");
    run.signal(Signal::TERM);
    assert_eq!(run.line(), "told");
    env.run(["run", "-n", "-q", "a", "true"]).code(75);
    std::fs::write(go, "").unwrap();
    run.end().code(6);
    until("the lock is free", || env.run(["run", "-n", "a", "true"]).code == 0);
}

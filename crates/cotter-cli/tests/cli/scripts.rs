//! A shell script that runs `cotter`: what is typed is meant for the script as well.

use crate::env::{TestEnv, is_alive};
use crate::jobs::Session;
use cotter_testkit::timing::until;
use std::fs;

/// The shell on the terminal does job control and runs a script, in which `$cotter` is the program; then it says how the
/// script came out.
fn session(env: &TestEnv, script: &str) -> Session {
    session_with(env, script, "read x\necho got-$x\n")
}

/// What the shell does between the end or the stop of the script and `fg`.
fn session_with(env: &TestEnv, script: &str, between: &str) -> Session {
    let (inner, outer) = (env.path("script"), env.path("shell"));
    fs::write(&inner, script).unwrap();
    let inner = inner.display();
    let lines = format!("set -m\ntrap : INT QUIT\nbash {inner}\necho status=$?\n{between}fg\necho code=$?\n");
    fs::write(&outer, lines).unwrap();
    Session::start(env, &format!("exec bash {}", outer.display()))
}

#[test]
fn ctrl_c_ends_the_script_and_not_only_the_command() {
    let env = TestEnv::new();
    let script =
        "for i in 1 2; do $cotter run a -- sh -c \"echo step=$i; exec sleep 600\"; echo after-$i; done";
    let mut session = session(&env, script);
    session.read("step=1");
    session.press("\x03");
    session.read("status=130");
    assert!(!session.text().contains("after-1"), "the script went on: {}", session.text());
}

/// A shell ignores what Ctrl-\ sends, but says of its children that they died of it.
#[test]
fn ctrl_backslash_ends_cotter_as_it_ends_the_command() {
    let env = TestEnv::new();
    let mut session =
        session(&env, "ulimit -c 0; $cotter run a -- sh -c 'echo rea\"\"dy; exec sleep 600'; echo after-$?");
    session.read("ready");
    session.press("\x1c");
    session.read("Quit");
    session.read("after-131");
}

#[test]
fn ctrl_c_while_it_waits_ends_the_script_too() {
    let env = TestEnv::new();
    let (holder, _) = env.hold(&[], "a");
    let mut session = session(&env, "$cotter run a true; echo went\"\"-on");
    session.read("waiting for a");
    session.press("\x03");
    session.read("status=130");
    assert!(!session.text().contains("went-on"), "{}", session.text());
    holder.let_go().code(0);
}

#[test]
fn a_command_that_deals_with_ctrl_c_lets_the_script_go_on() {
    let env = TestEnv::new();
    let script = "$cotter run a -- sh -c 'trap \"exit 9\" INT; echo rea\"\"dy; while :; do sleep 0.1; done'; echo after-$?";
    let mut session = session(&env, script);
    session.read("ready");
    session.press("\x03");
    session.read("after-9");
    session.read("status=0");
}

#[test]
fn one_ctrl_z_stops_the_whole_script_and_fg_lets_it_go_on() {
    let env = TestEnv::new();
    let mut session =
        session(&env, "$cotter run a -- sh -c 'echo pid=$$; read x; echo command-$x'; echo after-$?");
    let command = session.pid("pid=");
    session.press("\x1a");
    session.read("status=");
    session.press("prompt\n");
    session.read("got-prompt");
    session.press("hello\n");
    session.read("command-hello");
    session.read("after-0");
    session.read("code=0");
    until("it is gone", || !is_alive(command));
}

/// A shell knows of the stop as soon as the script has stopped, which may be before `cotter` has.
#[test]
fn a_script_that_goes_on_at_once_goes_on_with_cotter() {
    for _ in 0..10 {
        let env = TestEnv::new();
        let script = "$cotter run a -- sh -c 'echo pid=$$; read x; echo command-$x'; echo after-$?";
        let mut session = session_with(&env, script, "");
        session.pid("pid=");
        session.press("\x1a");
        session.read("status=");
        session.press("hello\n");
        session.read("command-hello");
        session.read("code=0");
    }
}

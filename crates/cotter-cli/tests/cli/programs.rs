//! Programs that want the whole terminal, and a container that has nobody else.

use crate::env::{Output, Running, TestEnv};
use crate::jobs::Session;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// The settings of the terminal, to be the same afterwards.
const SETTINGS: &str = "stty -g";

fn is_here(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
    let here = found.status.success();
    assert!(here || std::env::var_os("COTTER_REQUIRE").is_none(), "{program} is not installed");
    here
}

#[test]
fn an_editor_has_the_terminal_and_gives_it_back() {
    if !is_here("vi") {
        return;
    }
    let env = TestEnv::new();
    let file = env.path("text");
    let script = format!(
        "export TERM=xterm; before=$({SETTINGS}); $cotter run a -- vi -n {}; echo code=$?; \
         [ \"$before\" = \"$({SETTINGS})\" ] && echo set\"\"tings=same; read x; echo got-$x",
        file.display()
    );
    let mut session = Session::start(&env, &script);
    session.read("text\"");
    session.press("ihello from vi\x1b:wq\r");
    session.read("code=0");
    session.read("settings=same");
    session.press("shell\n");
    session.read("got-shell");
    assert_eq!(fs::read_to_string(file).unwrap(), "hello from vi\n");
}

/// Its standard input is the pipe; it reads the keys from the terminal.
#[test]
fn a_pager_at_the_end_of_a_pipe_hears_the_keys() {
    if !is_here("less") {
        return;
    }
    let env = TestEnv::new();
    let script = "export TERM=xterm; seq 1000 | $cotter run a -- less; echo code=$?; read x; echo got-$x";
    let mut session = Session::start(&env, script);
    session.read("20\r\n");
    session.press("G");
    session.read("1000");
    session.press("q");
    session.read("code=0");
    session.press("shell\n");
    session.read("got-shell");
}

#[test]
fn a_password_prompt_shows_nothing() {
    let env = TestEnv::new();
    let script = "$cotter run a -- bash -c 'read -rsp Password: p; echo; echo len=${#p}'; echo code=$?";
    let mut session = Session::start(&env, script);
    session.read("Password:");
    session.press("s3cret-pass\n");
    session.read("len=11");
    session.read("code=0");
    assert!(!session.text().contains("s3cret"), "it was shown");
}

/// A shell script as the first process of a container, which was brought in from outside: its session and its group have
/// no number there. `$0` is `cotter`. `None` where the kernel, or a container around this test, allows no other one: that is
/// said, and nothing can be installed for it.
fn in_a_container(env: &TestEnv, script: &str) -> Option<Output> {
    if !is_here("unshare") {
        return None;
    }
    let mut command = env.anywhere(Path::new("unshare"));
    command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "sh", "-c", script]);
    command.arg(env!("CARGO_BIN_EXE_cotter")).env("COTTER_URL", env.url());
    let output = Running::start(&mut command).end();
    if output.stderr.starts_with("unshare: ") {
        let mut out = std::io::stderr().lock();
        writeln!(out, "not tested, no container can be made here: {}", output.stderr).unwrap();
        return None;
    }
    Some(output)
}

/// It gets all orphans, also those that were there before it, and buries them; the command's own are stopped.
#[test]
fn as_the_first_process_it_buries_orphans() {
    let env = TestEnv::new();
    let script = "(sleep 0.2 &); exec \"$0\" run a -- sh -c '\
                  (setsid sleep 100 &); sleep 1; echo pid=$PPID; ps -eo stat= | grep -c Z; exit 7'";
    let Some(output) = in_a_container(&env, script) else { return };
    let output = output.code(7);
    assert!(output.stdout.ends_with("\n0\n"), "nobody is left unburied: {output:?}");
    assert!(output.stderr.contains("left a process running"), "{output:?}");
}

/// Those who hear no TERM are killed, in the session of `cotter` and in another.
#[test]
fn a_session_without_a_number_is_no_session_of_the_command() {
    let env = TestEnv::new();
    let deaf = "trap \"\" TERM; for i in $(seq 600); do sleep 0.1; done";
    let script = format!(
        "ps -o sid= -o pgid= -p $$; \
         \"$0\" run --grace 300ms a -- sh -c '(setsid sh -c \"$1\" &); (sh -c \"$1\" &); exit 7' - '{deaf}'; \
         echo code=$?; ps -eo comm= | grep -cx sh"
    );
    let Some(output) = in_a_container(&env, &script) else { return };
    let output = output.code(0);
    let lines: Vec<_> = output.stdout.split_whitespace().collect();
    assert_eq!(lines, ["0", "0", "code=7", "1"], "{output:?}");
    assert!(output.stderr.contains("processes running"), "{output:?}");
}

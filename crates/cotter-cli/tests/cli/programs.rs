//! Programs that want the whole terminal.

use crate::env::TestEnv;
use crate::jobs::Session;
use std::fs;

/// The settings of the terminal, to be the same afterwards.
const SETTINGS: &str = "stty -g";

#[test]
#[ignore = "needs vi"]
fn an_editor_has_the_terminal_and_gives_it_back() {
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
#[ignore = "needs less"]
fn a_pager_at_the_end_of_a_pipe_hears_the_keys() {
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

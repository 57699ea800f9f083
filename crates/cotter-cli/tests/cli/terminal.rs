//! What is different on a terminal.

use crate::env::TestEnv;
use cotter_testkit::timing::until;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const CLEAR: &str = "\r\x1b[K";

/// A terminal of this width: what is written to its second end can be read from its first.
pub(crate) fn terminal(columns: u16) -> (File, File) {
    let first = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&first).unwrap();
    unlockpt(&first).unwrap();
    let name = ptsname(&first, Vec::new()).unwrap();
    let second = open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    tcsetwinsize(&second, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    (first.into(), second.into())
}

/// Starts it with its errors on the terminal, which nobody else keeps open: reading ends with the process.
fn start(mut command: Command, screen: File) -> Child {
    command.env("TERM", "xterm").stderr(Stdio::from(screen)).spawn().unwrap()
}

/// Reads until the text contains `what` so many times.
pub(crate) fn read_until(from: &mut File, text: &mut String, what: &str, times: usize) {
    while text.matches(what).count() < times {
        let mut bytes = [0; 512];
        let mut ready = [PollFd::new(&*from, PollFlags::IN)];
        let patience = Timespec { tv_sec: 30, tv_nsec: 0 };
        assert!(poll(&mut ready, Some(&patience)).unwrap() > 0, "no {what:?} in {text:?}");
        let n = from.read(&mut bytes).unwrap_or_else(|e| panic!("no {what:?} in {text:?}: {e}"));
        text.push_str(&String::from_utf8_lossy(&bytes[..n]));
    }
}

#[test]
fn the_waiting_line_is_kept_up_to_date_and_cleared() {
    let env = TestEnv::new();
    let (first, _) = env.hold(&[], "a");
    let (mut shown, screen) = terminal(40);
    let mut second = start(env.cotter(["run", "a", "--", "sh", "-c", "echo ran >&2"]), screen);
    let mut text = String::new();
    read_until(&mut shown, &mut text, "waiting for a, held by ", 2);
    first.let_go().code(0);
    read_until(&mut shown, &mut text, "ran", 1);
    assert_eq!(second.wait().unwrap().code(), Some(0));
    let updates: Vec<_> = text.split(CLEAR).collect();
    assert_eq!(*updates.last().unwrap(), "ran\r\n", "cleared before the command runs: {text:?}");
    assert!(updates.iter().all(|line| line.chars().count() < 40), "a line that wraps stays: {text:?}");
    assert!(!text.contains('\n') || text.find('\n') > text.find("ran"), "in place: {text:?}");
}

#[test]
fn a_table_that_is_too_wide_for_the_terminal_is_cut_or_printed_in_paragraphs() {
    let env = TestEnv::new();
    let (_holder, _) = env.hold(&["--label", "nightly backup of the north"], "a-lock");
    let listed = |columns: u16| {
        let (mut shown, screen) = terminal(columns);
        let mut command = env.cotter(["list"]);
        let mut child = command.env("TERM", "xterm").stdout(Stdio::from(screen)).spawn().unwrap();
        drop(command);
        let mut text = String::new();
        read_until(&mut shown, &mut text, "a-lock", 1);
        read_until(&mut shown, &mut text, "\n", 2);
        assert_eq!(child.wait().unwrap().code(), Some(0));
        text
    };
    let wide = listed(200);
    let head = wide.lines().next().unwrap();
    assert!(head.starts_with("NAME") && head.ends_with("LEFT") && !head.contains("a-lock"), "{wide:?}");
    assert!(wide.contains("(nightly backup of the north)"), "{wide:?}");
    let cut = listed(50);
    assert!(cut.lines().all(|line| line.chars().count() <= 50) && cut.contains('…'), "{cut:?}");
    assert!(cut.contains("the north)") && cut.starts_with("NAME    HELD BY"), "{cut:?}");
    let narrow = listed(30);
    assert!(narrow.starts_with("NAME") && narrow.lines().next().unwrap().ends_with("a-lock"), "{narrow:?}");
}

/// What is done in silence elsewhere.
#[test]
fn people_are_told_what_came_of_it() {
    let env = TestEnv::new();
    env.run(["run", "--slot", "monday", "a", "true"]).code(0).silent();
    for (args, says) in [
        (&["list"][..], "no lock is held in file:///"),
        (&["jobs", "--group", "g", "list"], "no job of this group has ever been started"),
        (&["list", "b"], "no lock beginning with \"b\" is held in file:///"),
        (
            &["run", "--slot", "monday", "a", "true"],
            "slot \"monday\" is already done; not running the command",
        ),
    ] {
        env.run(args).code(0).silent();
        let (mut shown, screen) = terminal(200);
        let mut told = start(env.cotter(args), screen);
        let mut text = String::new();
        read_until(&mut shown, &mut text, says, 1);
        assert_eq!(told.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn what_goes_wrong_is_in_colour() {
    let env = TestEnv::new();
    let (mut shown, screen) = terminal(80);
    let mut wrong = start(env.cotter(["run", "", "true"]), screen);
    let mut text = String::new();
    read_until(&mut shown, &mut text, "byte", 1);
    assert_eq!(wrong.wait().unwrap().code(), Some(64));
    assert!(text.contains("\x1b[31mcotter:"), "{text:?}");
}

#[test]
fn a_terminal_that_stands_still_does_not_keep_the_command_from_starting() {
    let env = TestEnv::new();
    let (first, _) = env.hold(&[], "a");
    let (mut shown, screen) = terminal(80);
    let mark = env.path("mark");
    let mut second = start(env.cotter(["run", "a", "--", "touch", mark.to_str().unwrap()]), screen);
    let mut text = String::new();
    read_until(&mut shown, &mut text, "waiting for a, held by ", 1);
    // Ctrl-S, and long enough for the line to be brought up to date.
    shown.write_all(b"\x13").unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    first.let_go().code(0);
    until("the command runs", || mark.exists());
    assert_eq!(second.wait().unwrap().code(), Some(0));
}

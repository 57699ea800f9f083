//! The programs of `programs/`, which are written from the pages alone: each does what it is for, on a real server.
//!
//! `scripts/programs` builds them.

mod http;
mod leader;
mod long_run;
mod mail;
mod nightly;
mod orders;
mod report;

use cotter_testkit::timing::{FAR, first_within, until};
use rustix::process::{Pid, Signal, kill_process};
use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// A program that runs, and what it has said so far; killed when it is dropped.
struct Program {
    child: Child,
    said: Arc<Mutex<Vec<String>>>,
}

/// Beside the program of these tests.
fn built(name: &str) -> PathBuf {
    let this = env::current_exe().expect("a program");
    let path = this.ancestors().nth(2).expect("a folder").join(name);
    assert!(path.exists(), "{} is missing; run scripts/programs", path.display());
    path
}

impl Program {
    fn start(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(built(name));
        command
            .args(arguments)
            .env("NO_COLOR", "1")
            .env("RUST_LOG", "info")
            .envs(environment.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let said = Arc::new(Mutex::new(Vec::new()));
        keep(child.stdout.take().expect("a pipe"), &said);
        keep(child.stderr.take().expect("a pipe"), &said);
        Self { child, said }
    }

    /// The lines so far that contain this.
    fn lines(&self, part: &str) -> Vec<String> {
        let said = self.said.lock().expect("no panic");
        said.iter().filter(|line| line.contains(part)).cloned().collect()
    }

    /// Waits for a line that contains this, and returns the first one.
    fn says(&self, part: &str) -> String {
        let line = first_within(FAR, || self.lines(part).into_iter().next());
        line.unwrap_or_else(|| panic!("no {part:?} in {:#?}", self.lines("")))
    }

    fn kill(&mut self) {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it is ours");
    }

    /// Ends it as Kubernetes does, and expects it to end well.
    fn terminate(&mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("it is ours");
        assert_eq!(self.ends(), Some(0), "{:#?}", self.lines(""));
    }

    /// Waits until it has ended.
    fn ends(&mut self) -> Option<i32> {
        let mut status = None;
        until("it ends", || {
            status = self.child.try_wait().expect("it is ours");
            status.is_some()
        });
        status.and_then(|status| status.code())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn keep(pipe: impl Read + Send + 'static, said: &Arc<Mutex<Vec<String>>>) {
    let said = said.clone();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            said.lock().expect("no panic").push(line);
        }
    });
}

/// The value of a field in a line: `token=17`, or what follows the word `token`.
fn number_after(line: &str, word: &str) -> u64 {
    let rest = line.split_once(word).map_or("", |(_, rest)| rest.trim_start_matches(['=', ' ']));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number after {word:?}: {line}"))
}

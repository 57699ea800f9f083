//! Copies of this test binary: told what to do line by line, they answer each order with a line.

use cotter::{Client, Guard, file};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Names the directory to the copy of this binary.
const DIRECTORY: &str = "COTTER_TEST_DIRECTORY";
/// Before every answer, so that the test harness may print too.
const ANSWER: &str = "@";

/// What a copy does: nothing in a run of the tests, orders in a run that a test started.
#[test]
fn copy() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    let client = Client::builder().backend(file::Store::at(&directory)).connect().wait();
    let mut held: Option<Guard> = None;
    for order in std::io::stdin().lines() {
        let answer = match &client {
            Ok(client) => obey(&order.unwrap(), client, &mut held),
            Err(e) => format!("{:?} {e}", e.kind()),
        };
        say(&answer);
    }
}

fn obey(order: &str, client: &Client, held: &mut Option<Guard>) -> String {
    let lock = client.rwlock("a");
    let got = match order {
        "lock" => client.mutex("a").lock().wait().map(Some),
        "try" => client.mutex("a").try_lock().wait(),
        "try b" => client.mutex("b").try_lock().wait(),
        "read" => lock.read().wait().map(|guard| Some(guard.into())),
        "write" => lock.write().wait().map(|guard| Some(guard.into())),
        "try read" => lock.try_read().wait().map(|guard| guard.map(Into::into)),
        "try write" => lock.try_write().wait().map(|guard| guard.map(Into::into)),
        "saturate with reads" => saturate(|| lock.read().wait().unwrap().into()),
        "saturate with writes" => saturate(|| lock.write().wait().unwrap().into()),
        "valid" => return held.as_ref().is_some_and(Guard::is_valid).to_string(),
        "release" => return format!("{:?}", held.take().map(|g| g.release().wait())),
        other => return format!("no such order: {other}"),
    };
    match got {
        Ok(Some(guard)) => held.insert(guard).token().to_string(),
        Ok(None) => "busy".into(),
        Err(e) => format!("{:?} {e}", e.kind()),
    }
}

fn say(answer: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{ANSWER}{answer}").unwrap();
}

/// Takes it again and again until it is killed.
fn saturate(take: impl Fn() -> Guard) -> ! {
    say("on");
    loop {
        let guard = take();
        std::thread::sleep(Duration::from_millis(2));
        drop(guard);
    }
}

/// A copy; killed when it is dropped.
pub(crate) struct Copy {
    pub(crate) child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Copy {
    pub(crate) fn start(directory: &Path) -> Self {
        Self::spawn(Command::new(std::env::current_exe().unwrap()), directory)
    }

    pub(crate) fn spawn(mut command: Command, directory: &Path) -> Self {
        command.args(["--exact", "copy::copy", "--nocapture"]).env(DIRECTORY, directory);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (orders, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, orders, answers }
    }

    pub(crate) fn order(&mut self, what: &str) {
        writeln!(self.orders, "{what}").unwrap();
    }

    pub(crate) fn answer(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.answers.read_line(&mut line).unwrap() > 0, "the copy ended");
            if let Some((_, answer)) = line.trim_end().split_once(ANSWER) {
                return answer.to_owned();
            }
        }
    }

    pub(crate) fn ask(&mut self, what: &str) -> String {
        self.order(what);
        self.answer()
    }

    pub(crate) fn token(&mut self) -> u64 {
        let answer = self.answer();
        answer.parse().unwrap_or_else(|_| panic!("a token, not {answer}"))
    }

    /// Asks for the lock and gets it.
    pub(crate) fn take(&mut self, how: &str) -> u64 {
        self.order(how);
        self.token()
    }

    pub(crate) fn signal(&self, name: &str) {
        let done = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(done.success());
    }

    pub(crate) fn state(&self) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap()
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn place() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("locks");
    (place, directory)
}

pub(crate) fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn waiters(directory: &Path) -> usize {
    let tickets = std::fs::read_dir(directory.join("a.queue")).into_iter().flatten();
    tickets.filter(|t| !t.as_ref().unwrap().file_name().to_string_lossy().starts_with('.')).count()
}

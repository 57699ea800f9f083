//! Readers and writers of the file store in real processes: this test binary starts itself, and tells its copies what
//! to do line by line.

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

/// What a copy does: one line for each order.
#[test]
fn copy() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    let client = Client::builder().backend(file::Store::at(&directory)).connect().wait().unwrap();
    let lock = client.rwlock("a");
    let mut held: Option<Guard> = None;
    for order in std::io::stdin().lines() {
        let got: Option<Guard> = match order.unwrap().as_str() {
            "read" => Some(lock.read().wait().unwrap().into()),
            "write" => Some(lock.write().wait().unwrap().into()),
            "try read" => lock.try_read().wait().unwrap().map(Into::into),
            "try write" => lock.try_write().wait().unwrap().map(Into::into),
            "saturate with reads" => saturate(|| lock.read().wait().unwrap().into()),
            "saturate with writes" => saturate(|| lock.write().wait().unwrap().into()),
            "release" => {
                drop(held.take());
                None
            }
            other => panic!("no such order: {other}"),
        };
        let answer = got.as_ref().map_or_else(|| "none".to_owned(), |g| g.token().to_string());
        held = got.or(held);
        say(&answer);
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
struct Copy {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Copy {
    fn start(directory: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "copy", "--nocapture"]).env(DIRECTORY, directory);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (orders, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, orders, answers }
    }

    fn order(&mut self, what: &str) {
        writeln!(self.orders, "{what}").unwrap();
    }

    fn answer(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.answers.read_line(&mut line).unwrap() > 0, "the copy ended");
            if let Some((_, answer)) = line.trim_end().split_once(ANSWER) {
                return answer.to_owned();
            }
        }
    }

    fn ask(&mut self, what: &str) -> String {
        self.order(what);
        self.answer()
    }

    fn token(&mut self, what: &str) -> u64 {
        let answer = self.ask(what);
        answer.parse().unwrap_or_else(|_| panic!("a token, not {answer}"))
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn place() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("locks");
    (place, directory)
}

fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn waiters(directory: &Path) -> usize {
    let tickets = std::fs::read_dir(directory.join("a.queue")).into_iter().flatten();
    tickets.filter(|t| !t.as_ref().unwrap().file_name().to_string_lossy().starts_with('.')).count()
}

#[test]
fn several_read_and_one_writes() {
    let (_keep, directory) = place();
    let mut readers: Vec<Copy> = (0..4).map(|_| Copy::start(&directory)).collect();
    let mut writer = Copy::start(&directory);
    let tokens: Vec<u64> = readers.iter_mut().map(|r| r.token("try read")).collect();
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
    let client = Client::builder().backend(file::Store::at(&directory)).connect().wait().unwrap();
    let shown = client.holder("a").wait().unwrap().unwrap().holders;
    let pids: Vec<Option<u32>> = shown.iter().map(|h| h.pid).collect();
    assert_eq!(pids, readers.iter().map(|r| Some(r.child.id())).collect::<Vec<_>>());
    for reader in &mut readers {
        assert_eq!(writer.ask("try write"), "none");
        reader.ask("release");
    }
    let written = writer.token("try write");
    assert!(written > tokens[3]);
    assert_eq!(readers[0].ask("try read"), "none");
    writer.ask("release");
    assert!(readers[0].token("try read") > written);
}

#[test]
fn the_last_reader_wakes_the_writer_however_it_ends() {
    let (_keep, directory) = place();
    let mut waits = Vec::new();
    let mut last = 0;
    for round in 0..20 {
        let (mut one, mut other, mut writer) =
            (Copy::start(&directory), Copy::start(&directory), Copy::start(&directory));
        one.token("read");
        other.token("read");
        writer.order("write");
        until("it queues", || waiters(&directory) == 1);
        other.ask("release");
        // Until it relies on events and looks only every 50 ms, at another point of that time in every round.
        std::thread::sleep(Duration::from_millis(80 + 2 * round));
        let start = Instant::now();
        if round % 2 == 0 {
            one.child.kill().unwrap();
        } else {
            one.ask("release");
        }
        let token: u64 = writer.answer().parse().unwrap();
        waits.push(start.elapsed());
        assert!(token > last);
        last = token;
    }
    waits.sort_unstable();
    assert!(waits[17] < Duration::from_millis(30), "events do not wake: {waits:?}");
    assert!(waits[19] < Duration::from_secs(2), "{waits:?}");
}

/// Four that take it all the time, and one of the other kind that wants it now and then.
fn is_not_starved(saturate: &str, wish: &str) {
    let (_keep, directory) = place();
    let mut busy: Vec<Copy> = (0..4).map(|_| Copy::start(&directory)).collect();
    for copy in &mut busy {
        assert_eq!(copy.ask(saturate), "on");
    }
    let mut one = Copy::start(&directory);
    let (mut last, mut longest) = (0, Duration::ZERO);
    for _ in 0..20 {
        let start = Instant::now();
        let token = one.token(wish);
        longest = longest.max(start.elapsed());
        assert!(token > last);
        last = token;
        one.ask("release");
    }
    assert!(longest < Duration::from_secs(1), "{wish} waited {longest:?}");
}

#[test]
fn readers_do_not_starve_a_writer() {
    is_not_starved("saturate with reads", "write");
}

#[test]
fn writers_do_not_starve_a_reader() {
    is_not_starved("saturate with writes", "read");
}

//! One run of one test program.

use super::libtest::{self, Results};
use super::programs::Program;
use super::{Result, say};
use cotter_testkit::timing::{Busy, Stopwatch};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, PipeReader, pipe};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{mem, thread};

/// Far beyond what any program takes, on a busy machine as well: who has not ended by then hangs.
const TIME_LIMIT: Duration = Duration::from_secs(25 * 60);

/// The same for a test by itself.
const TIME_LIMIT_ALONE: Duration = Duration::from_secs(10 * 60);

/// The time for the last lines of a program that has ended.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Which of the tests of a program, and how many of them at once.
#[derive(Debug, Default, Clone)]
pub(crate) struct Choice {
    /// If there are any, only tests with one of these in their names.
    pub(crate) only: Vec<String>,
    pub(crate) skipped: Vec<String>,
    pub(crate) threads: Option<usize>,
    /// What its lines begin with when they are shown: several programs may run at once.
    pub(crate) prefix: &'static str,
}

/// The prefix of the lines that are shown, or none are.
type Shown = Option<&'static str>;

/// How a run ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// With results.
    With(Results),
    /// It crashed or hung. The text says which, and what it printed last.
    Without(String),
}

/// Runs these tests. Each line is shown when it is there.
pub(crate) fn run(program: &Program, choice: &Choice) -> Result<Ended> {
    let mut command = command(program);
    command.args(&choice.only);
    for text in &choice.skipped {
        command.args(["--skip", text]);
    }
    if let Some(threads) = choice.threads {
        command.arg(format!("--test-threads={threads}"));
    }
    let output = run_to_end(command, TIME_LIMIT, Some(choice.prefix))?;
    Ok(match (libtest::results(&output.text), output.status) {
        (Some(mut results), Some(_)) => {
            for (test, machine) in output.machine {
                if let Some(text) = results.failed.get_mut(&test) {
                    text.push_str(&machine);
                }
            }
            Ended::With(results)
        }
        (_, status) => {
            let how =
                status.map_or_else(|| "does not end".to_owned(), |status| format!("ended with {status}"));
            let unfinished = output.unfinished.join(", ");
            Ended::Without(format!("{how}; unfinished: {unfinished}\n{}", tail(&output.text)))
        }
    })
}

/// Runs one test by itself. What it printed, if it failed.
pub(crate) fn run_alone(program: &Program, test: &str) -> Result<Option<String>> {
    let mut command = command(program);
    command.args(["--exact", test]);
    let output = run_to_end(command, TIME_LIMIT_ALONE, None)?;
    let passed = output.status.is_some_and(|status| status.success());
    Ok((!passed).then_some(output.text))
}

/// In the folder that cargo would run it in.
fn command(program: &Program) -> Command {
    let mut command = Command::new(&program.executable);
    command.args(&program.arguments).current_dir(&program.package);
    // Cargo itself would build again what has a build script that reads it.
    if !program.is_cargo() {
        command.env("CARGO_MANIFEST_DIR", &program.package);
    }
    command
}

#[derive(Debug, Default)]
struct Output {
    /// None: it had to be killed.
    status: Option<ExitStatus>,
    text: String,
    /// The state of the machine when a test failed, by test.
    machine: BTreeMap<String, String>,
    /// Tests that took long and were not seen to end.
    unfinished: Vec<String>,
}

fn run_to_end(mut command: Command, limit: Duration, shown: Shown) -> Result<Output> {
    // From now on it is known how busy the machine is.
    let _ = Stopwatch::start();
    let (reader, writer) = pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // Its writing ends would keep the pipe open.
    drop(command);
    let output = Arc::<Mutex<Output>>::default();
    let reading = thread::spawn({
        let output = output.clone();
        move || read(reader, shown, &output)
    });
    let status = wait(&mut child, limit)?;
    // A server that a killed program left behind keeps the pipe open: what is there by then has to do.
    let end = Instant::now() + LAST_LINES;
    while !reading.is_finished() && Instant::now() < end {
        thread::sleep(PAUSE);
    }
    let mut output = mem::take(&mut *output.lock().unwrap_or_else(PoisonError::into_inner));
    output.status = status;
    Ok(output)
}

fn read(reader: PipeReader, shown: Shown, output: &Mutex<Output>) {
    for line in BufReader::new(reader).split(b'\n').map_while(std::result::Result::ok) {
        let line = String::from_utf8_lossy(&line);
        if let Some(prefix) = shown {
            say(&format!("{prefix}{line}"));
        }
        output.lock().unwrap_or_else(PoisonError::into_inner).take_line(&line);
    }
}

impl Output {
    fn take_line(&mut self, line: &str) {
        if let Some(test) = libtest::failed_test(line) {
            self.machine.insert(test.to_owned(), machine());
        }
        match libtest::slow_test(line) {
            Some(test) => self.unfinished.push(test.to_owned()),
            None => self.unfinished.retain(|test| !line.starts_with(&format!("test {test} ... "))),
        }
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// None: the limit passed, and it was killed.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(PAUSE);
    }
}

/// How busy it was just now.
fn machine() -> String {
    let now = Instant::now();
    format!("the machine when it failed: {}\n", Busy::since(now.checked_sub(LAST_LINES).unwrap_or(now)))
}

/// The last lines.
fn tail(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

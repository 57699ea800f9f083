//! Events, and what commands print, as lines: with the name of the job, or with `--json` as objects on standard output.
//!
//! A separate thread writes them, so that a stopped terminal or a full pipe does not delay jobs.

use super::event_line::{is_problem, object, stamped, text};
use cotter_console::{Console, clean};
use cotter_scheduler::{Event, EventKind, UnixTime};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The timeout for writing the last lines.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum number of lines of commands that are not written yet.
const MAX_OUTPUT_LINES: usize = 256;

/// The maximum number of runs whose output is still read after they have ended. Each of them takes two descriptors.
const MAX_LATE_READERS: usize = 64;

/// Writes events.
pub(super) struct EventLog {
    lines: Sender<Line>,
    json: bool,
    quiet: bool,
    /// What is known of the last command of each job, until its end is reported.
    runs: Mutex<HashMap<String, RunFacts>>,
    /// The length of the longest name of a job.
    width: AtomicUsize,
    /// Room for lines of commands that are not written yet. If there is none the commands have to wait, as they would if they
    /// wrote by themselves.
    room: Arc<Semaphore>,
    /// Room for the output of runs that have ended.
    late: Arc<Semaphore>,
}

/// What is known of the command of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct RunFacts {
    /// The exit code.
    pub(super) code: Option<u8>,
    /// The end of the output.
    pub(super) output: String,
    /// The arguments, as variables of the environment.
    pub(super) arguments: Vec<(String, String)>,
}

/// The run that a line of a command belongs to.
pub(super) struct Origin {
    pub(super) job: String,
    pub(super) slot: UnixTime,
    /// The key of a command that follows the run.
    pub(super) key: Option<&'static str>,
}

enum Line {
    Remark(String),
    Warning(String),
    Problem(String),
    Object(Value),
    /// A line of a command, with its place in the room.
    Output(Output, OwnedSemaphorePermit),
    /// A request to confirm that all earlier lines were written.
    Last(Sender<()>),
}

enum Output {
    Text { is_error: bool, line: Vec<u8> },
    Object(Value),
}

impl Output {
    fn write(&self, console: &Console) -> io::Result<()> {
        match self {
            Self::Object(object) => writeln!(console.out(), "{object}"),
            // Colours and other bytes are passed on as they are.
            Self::Text { is_error: false, line } => io::stdout().write_all(line),
            Self::Text { is_error: true, line } => io::stderr().write_all(line),
        }
    }
}

impl EventLog {
    pub(super) fn start(console: &Console) -> io::Result<Self> {
        let (lines, receiver) = channel();
        let (json, quiet, console) = (console.json, console.quiet, *console);
        std::thread::Builder::new().spawn(move || write(&receiver, &console))?;
        let (room, late) =
            [MAX_OUTPUT_LINES, MAX_LATE_READERS].map(|most| Arc::new(Semaphore::new(most))).into();
        Ok(Self { lines, json, quiet, runs: Mutex::default(), width: AtomicUsize::new(0), room, late })
    }

    /// Begins a run of a job with these arguments.
    pub(super) fn begin(&self, job: &str, arguments: Vec<(String, String)>) {
        self.note(job, |facts| *facts = RunFacts { arguments, ..RunFacts::default() });
    }

    /// Adds to what is known of the last run of a job.
    pub(super) fn note(&self, job: &str, change: impl FnOnce(&mut RunFacts)) {
        change(self.runs().entry(job.to_owned()).or_default());
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<String, RunFacts>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports an event. Returns what is known of the command, if this is the end of its run.
    pub(super) fn event(&self, event: &Event) -> RunFacts {
        let job = event.job.as_deref().filter(|_| matches!(event.kind, EventKind::Ended { .. }));
        let facts = job.and_then(|job| self.runs().remove(job)).unwrap_or_default();
        let text = text(event);
        self.send(match (self.json, event.kind.is_warning()) {
            (true, _) if self.quiet && !is_problem(&event.kind) => return facts,
            (true, _) => Line::Object(object(event, facts.code)),
            (false, _) if is_problem(&event.kind) => Line::Problem(text),
            (false, true) => Line::Warning(text),
            (false, false) => Line::Remark(text),
        });
        facts
    }

    /// Sets the names that begin lines, which are padded to the same length.
    pub(super) fn names<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let longest = names.map(|name| clean(name).chars().count()).max();
        self.width.store(longest.unwrap_or_default(), Ordering::Relaxed);
    }

    /// Writes a line of a command as soon as there is room.
    pub(super) async fn output(&self, origin: &Origin, is_error: bool, line: Vec<u8>) {
        let Ok(place) = self.room.clone().acquire_owned().await else { return };
        let output = match self.json {
            true => Output::Object(stamped(json!({
                "event": "output",
                "job": origin.job,
                "of": origin.key,
                "slot": origin.slot.to_string(),
                "stream": if is_error { "stderr" } else { "stdout" },
                "line": String::from_utf8_lossy(&line),
            }))),
            false => {
                let key = origin.key.map(|key| format!(" {key}")).unwrap_or_default();
                let (job, width) = (clean(&origin.job) + &key, self.width.load(Ordering::Relaxed));
                let line = [format!("{job:width$} | ").as_bytes(), &line, b"\n"].concat();
                Output::Text { is_error, line }
            }
        };
        self.send(Line::Output(output, place));
    }

    /// A place for a reader of a run that has ended, if there is one left: as long as nobody reads the log, each run would leave
    /// a reader, until there are no descriptors for the next run.
    pub(super) fn late_reader(&self) -> Option<OwnedSemaphorePermit> {
        self.late.clone().try_acquire_owned().ok()
    }

    pub(super) fn warning(&self, job: Option<&str>, text: &str) {
        self.own("warning", job, text, Line::Warning);
    }

    pub(super) fn store_down(&self, error: &str) {
        let text = if self.json { error.to_owned() } else { format!("{error}; retrying until it answers") };
        self.own("store_down", None, &text, Line::Warning);
    }

    pub(super) fn store_back(&self) {
        self.own("store_back", None, "the store answers now", Line::Remark);
    }

    pub(super) fn remark(&self, text: &str) {
        self.own("remark", None, text, Line::Remark);
    }

    /// A remark with the same in fields, for programs.
    pub(super) fn remark_with(&self, text: &str, fields: &[(&str, Value)]) {
        if !self.json || self.quiet {
            return self.remark(text);
        }
        let mut object = stamped(json!({ "event": "remark", "job": null, "message": text }));
        for (key, value) in fields {
            object[*key] = value.clone();
        }
        self.send(Line::Object(object));
    }

    /// Waits until all lines are written, with a timeout.
    pub(super) fn finish(&self) {
        let (done, all) = channel();
        self.send(Line::Last(done));
        let _ = all.recv_timeout(FLUSH_TIMEOUT);
    }

    fn own(&self, kind: &str, job: Option<&str>, text: &str, line: fn(String) -> Line) {
        self.send(match (self.json, job) {
            (true, _) if self.quiet => return,
            (true, _) => Line::Object(stamped(json!({ "event": kind, "job": job, "message": text }))),
            (false, Some(job)) => line(format!("{job}: {text}")),
            (false, None) => line(text.to_owned()),
        });
    }

    fn send(&self, line: Line) {
        // An error means that the thread has ended.
        let _ = self.lines.send(line);
    }
}

fn write(lines: &Receiver<Line>, console: &Console) {
    for line in lines {
        match line {
            Line::Remark(text) => console.remark(&text),
            Line::Warning(text) => console.warning(&text),
            Line::Problem(text) => console.problem(&text),
            Line::Object(object) => drop(writeln!(console.out(), "{object}")),
            Line::Output(output, place) => {
                let _ = output.write(console);
                drop(place);
            }
            Line::Last(done) => drop(done.send(())),
        }
    }
}

//! Events, and what commands print, as lines: with the name of the job, or with `--json` as objects on standard output.
//!
//! A separate thread writes them, so that a stopped terminal or a full pipe does not delay jobs.

use crate::duration::{millis, words};
use crate::jobs::short;
use crate::output::{Console, clean};
use cotter_scheduler::{Ending, Event, EventKind, UnixTime};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The timeout for writing the last lines.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum number of lines of commands that are not written yet.
const MAX_OUTPUT_LINES: usize = 256;

/// Writes events.
pub(super) struct EventLog {
    lines: Sender<Line>,
    json: bool,
    /// The exit code of the last command of each job, until it is reported.
    codes: Mutex<HashMap<String, u8>>,
    /// The length of the longest name of a job.
    width: AtomicUsize,
    /// Room for lines of commands that are not written yet. If there is none the commands have to wait, as they would if they
    /// wrote by themselves.
    room: Arc<Semaphore>,
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
    pub(super) fn start(console: &Console) -> Self {
        let (lines, receiver) = channel();
        let (json, console) = (console.json, *console);
        std::thread::spawn(move || write(&receiver, &console));
        let room = Arc::new(Semaphore::new(MAX_OUTPUT_LINES));
        Self { lines, json, codes: Mutex::default(), width: AtomicUsize::new(0), room }
    }

    /// Sets the exit code of a job's command, which is reported with the end of the run.
    pub(super) fn code(&self, job: &str, code: u8) {
        self.codes.lock().unwrap_or_else(PoisonError::into_inner).insert(job.to_owned(), code);
    }

    /// Reports an event. Returns the exit code of the command, if this is the end of its run.
    pub(super) fn event(&self, event: &Event) -> Option<u8> {
        let job = event.job.as_deref();
        let ended = matches!(event.kind, EventKind::Ended { .. });
        let code = job
            .filter(|_| ended)
            .and_then(|job| self.codes.lock().unwrap_or_else(PoisonError::into_inner).remove(job));
        let text = text(event);
        self.send(match (self.json, event.kind.is_warning()) {
            (true, _) => Line::Object(object(event, code)),
            (false, _) if is_problem(&event.kind) => Line::Problem(text),
            (false, true) => Line::Warning(text),
            (false, false) => Line::Remark(text),
        });
        code
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

    pub(super) fn warning(&self, job: Option<&str>, text: &str) {
        self.own("warning", job, text, Line::Warning);
    }

    pub(super) fn store_down(&self, error: &str) {
        let text = if self.json { error.to_owned() } else { format!("{error}; retrying until it answers") };
        self.own("store down", None, &text, Line::Warning);
    }

    pub(super) fn store_back(&self) {
        self.own("store back", None, "the store answers now", Line::Remark);
    }

    pub(super) fn remark(&self, text: &str) {
        self.own("remark", None, text, Line::Remark);
    }

    /// A remark with the same in fields, for programs.
    pub(super) fn remark_with(&self, text: &str, fields: &[(&str, Value)]) {
        if !self.json {
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

/// Whether a run has failed, or a job cannot run. This is reported with `--quiet` too.
fn is_problem(kind: &EventKind) -> bool {
    match kind {
        EventKind::Ended { outcome, .. } => {
            !matches!(outcome, Ending::Ok | Ending::Stopped | Ending::Replaced)
        }
        EventKind::Crashed { .. } | EventKind::Broken { .. } => true,
        _ => false,
    }
}

/// The event for people, with durations as in other commands.
fn text(event: &Event) -> String {
    let job = event.job.as_deref().map(|job| format!("{job}: ")).unwrap_or_default();
    match &event.kind {
        EventKind::Ended { slot, outcome, took, .. } => {
            format!("{job}ended for {} after {}: {outcome}", short(*slot), words(*took))
        }
        EventKind::Retrying { slot, attempt, after } => {
            format!("{job}attempt {attempt} for {} follows in {}", short(*slot), words(*after))
        }
        EventKind::Stays { rest } => {
            format!("{job}keeps its lock for another {} (at_least), then stops", words(*rest))
        }
        _ => event.to_string(),
    }
}

fn stamped(mut object: Value) -> Value {
    object["time"] = format!("{:.3}", UnixTime::now()).into();
    object
}

fn object(event: &Event, code: Option<u8>) -> Value {
    let mut object = stamped(fields(&event.kind));
    object["job"] = event.job.as_deref().into();
    if let Some(code) = code {
        object["code"] = code.into();
    }
    object
}

fn fields(kind: &EventKind) -> Value {
    match kind {
        EventKind::Started { slot, attempt, token, late } => json!({
            "event": "started",
            "slot": slot.to_string(),
            "attempt": attempt,
            "token": token.to_string(),
            "late_ms": millis(*late),
        }),
        EventKind::Ended { slot, attempt, token, outcome, took, .. } => json!({
            "event": "ended",
            "slot": slot.to_string(),
            "attempt": attempt,
            "token": token.to_string(),
            "outcome": outcome.word(),
            "reason": outcome.reason(),
            "took_ms": millis(*took),
        }),
        EventKind::Retrying { slot, attempt, after } => json!({
            "event": "retrying",
            "slot": slot.to_string(),
            "attempt": attempt,
            "after_ms": millis(*after),
        }),
        EventKind::Skipped { n } => json!({ "event": "skipped", "slots": n }),
        EventKind::Missed { n } => json!({ "event": "missed", "slots": n }),
        EventKind::Merged { n } => json!({ "event": "merged", "slots": n }),
        EventKind::Crashed { slot, token, again } => {
            json!({ "event": "crashed", "slot": slot.to_string(), "token": token.to_string(), "again": again })
        }
        EventKind::StandsBy { why } => json!({ "event": "stands by", "message": why }),
        EventKind::Again => json!({ "event": "again" }),
        EventKind::Alarm => json!({ "event": "alarm", "message": kind.to_string() }),
        EventKind::Busy => json!({ "event": "busy" }),
        EventKind::StoreDown { error } => json!({ "event": "store down", "message": error }),
        EventKind::StoreBack => json!({ "event": "store back" }),
        EventKind::Broken { error } => json!({ "event": "broken", "message": error }),
        EventKind::Stays { rest } => json!({ "event": "stays", "rest_ms": millis(*rest) }),
        EventKind::Paused { yes: true, by, reason } => {
            json!({ "event": "paused", "by": by, "reason": given(reason) })
        }
        EventKind::Paused { yes: false, by, .. } => json!({ "event": "resumed", "by": by }),
        other => json!({ "event": "other", "message": other.to_string() }),
    }
}

/// A reason, if one was given.
fn given(reason: &str) -> Option<&str> {
    (!reason.is_empty()).then_some(reason)
}

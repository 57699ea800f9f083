//! Events as lines: on standard error, or with `--json` as objects on standard output.
//!
//! A separate thread writes them, so that a stopped terminal or a full pipe does not delay jobs.

use crate::duration::{millis, words};
use crate::jobs::short;
use crate::output::Console;
use cotter_scheduler::{Ending, Event, EventKind, UnixTime};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The timeout for writing the last lines.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Writes events.
pub(super) struct EventLog {
    lines: Sender<Line>,
    json: bool,
    /// The exit code of the last command of each job, until it is reported.
    codes: Mutex<HashMap<String, u8>>,
}

enum Line {
    Remark(String),
    Warning(String),
    Problem(String),
    Object(Value),
    /// A request to confirm that all earlier lines were written.
    Last(Sender<()>),
}

impl EventLog {
    pub(super) fn start(console: &Console) -> Self {
        let (lines, receiver) = channel();
        let (json, console) = (console.json, *console);
        std::thread::spawn(move || write(&receiver, &console));
        Self { lines, json, codes: Mutex::default() }
    }

    /// Sets the exit code of a job's command, which is reported with the end of the run.
    pub(super) fn code(&self, job: &str, code: u8) {
        self.codes.lock().unwrap_or_else(PoisonError::into_inner).insert(job.to_owned(), code);
    }

    pub(super) fn event(&self, event: &Event) {
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
            Line::Last(done) => drop(done.send(())),
        }
    }
}

/// Whether a run has failed, or a job cannot run. This is reported with `--quiet` too.
fn is_problem(kind: &EventKind) -> bool {
    match kind {
        EventKind::Ended { outcome, .. } => !matches!(outcome, Ending::Ok | Ending::Stopped),
        EventKind::Crashed { .. } | EventKind::Broken { .. } => true,
        _ => false,
    }
}

/// The event for people, with durations as in other commands.
fn text(event: &Event) -> String {
    let job = event.job.as_deref().map(|job| format!("{job}: ")).unwrap_or_default();
    match &event.kind {
        EventKind::Ended { slot, outcome, took } => {
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
        EventKind::Started { slot, attempt, token } => {
            json!({ "event": "started", "slot": slot.to_string(), "attempt": attempt, "token": token.to_string() })
        }
        EventKind::Ended { slot, outcome, took } => json!({
            "event": "ended",
            "slot": slot.to_string(),
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
        EventKind::Paused { yes: true, by } => json!({ "event": "paused", "by": by }),
        EventKind::Paused { yes: false, by } => json!({ "event": "resumed", "by": by }),
        other => json!({ "event": "other", "message": other.to_string() }),
    }
}

//! `--report`: a report of the run for programs.

use super::sink;
use cotter::FencingToken;
use cotter_console::duration::millis;
use cotter_console::{Console, Exit, Failure, clean};
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// The data of the report so far.
#[derive(Debug)]
pub(super) struct Report {
    name: String,
    begin: Instant,
    held: Option<(Instant, FencingToken)>,
}

impl Report {
    pub(super) fn begin(name: &str) -> Self {
        Self { name: name.to_owned(), begin: Instant::now(), held: None }
    }

    pub(super) fn held(&mut self, token: FencingToken) {
        self.held = Some((Instant::now(), token));
    }

    /// When the lock was acquired.
    pub(super) fn since(&self) -> Instant {
        self.held.map_or_else(Instant::now, |(since, _)| since)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// For how long the lock was waited for, also in vain.
    pub(super) fn waited(&self) -> Duration {
        self.held.map_or_else(|| self.begin.elapsed(), |(since, _)| since - self.begin)
    }

    /// For how long it has been held.
    pub(super) fn held_for(&self) -> Option<Duration> {
        self.held.map(|(since, _)| since.elapsed())
    }

    /// Writes the report. A failure is only a warning.
    pub(super) fn write(&self, path: &Path, result: &Result<Exit, Failure>, console: &Console) {
        if let Err(error) = sink::write_to(path, &self.text(result)) {
            let path = clean(&path.to_string_lossy());
            console.warning(&format!("the report {path} was not written: {error}"));
        }
    }

    /// The report as JSON. The token is a string, because not every JSON parser has 64-bit integers.
    fn text(&self, result: &Result<Exit, Failure>) -> String {
        let exit = result.as_ref().map_or_else(|failure| failure.exit, |exit| *exit);
        let report = serde_json::json!({
            "name": self.name,
            "outcome": outcome(exit),
            "code": exit.code(),
            "signal": signal(exit),
            "token": self.held.map(|(_, token)| token.to_string()),
            "waited_ms": millis(self.waited()),
            "held_ms": self.held_for().map(millis),
            "error": result.as_ref().err().map(|failure| &failure.message),
        });
        format!("{report}\n")
    }
}

pub(super) fn outcome(exit: Exit) -> &'static str {
    match exit {
        Exit::Child(_) | Exit::Signalled { .. } => "exited",
        Exit::Done => "done_before",
        Exit::Lost => "lost",
        Exit::MaxHold => "max_hold",
        Exit::Busy(_) => "busy",
        Exit::Interrupted(_) => "interrupted",
        Exit::CannotExecute | Exit::NotFound => "not_started",
        _ => "failed",
    }
}

/// The signal that ended the command, or the wait for the lock.
fn signal(exit: Exit) -> Option<u8> {
    match exit {
        Exit::Signalled { signal, .. } | Exit::Interrupted(signal) => Some(signal),
        _ => None,
    }
}

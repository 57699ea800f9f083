//! `--report`: how it went, for programs.

use super::sink;
use crate::exit::Exit;
use crate::output::{Console, Failure, clean};
use cotter::FencingToken;
use std::path::Path;
use tokio::time::Instant;

/// What is known so far.
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

    /// Since when the lock is held.
    pub(super) fn since(&self) -> Instant {
        self.held.map_or_else(Instant::now, |(since, _)| since)
    }

    /// A report that cannot be written does not change how it went.
    pub(super) fn write(&self, path: &Path, result: &Result<Exit, Failure>, console: &Console) {
        if let Err(error) = sink::write_to(path, &self.text(result)) {
            let path = clean(&path.to_string_lossy());
            console.warning(&format!("the report {path} was not written: {error}"));
        }
    }

    /// The token is a string, as everywhere: not every reader has 64-bit numbers.
    fn text(&self, result: &Result<Exit, Failure>) -> String {
        let exit = result.as_ref().map_or_else(|failure| failure.exit, |exit| *exit);
        let waited = self.held.map_or_else(|| self.begin.elapsed(), |(since, _)| since - self.begin);
        let report = serde_json::json!({
            "name": self.name,
            "outcome": outcome(exit),
            "code": exit.code(),
            "signal": signal(exit),
            "token": self.held.map(|(_, token)| token.to_string()),
            "waited": waited.as_secs_f64(),
            "held": self.held.map(|(since, _)| since.elapsed().as_secs_f64()),
            "error": result.as_ref().err().map(|failure| &failure.message),
        });
        format!("{report}\n")
    }
}

fn outcome(exit: Exit) -> &'static str {
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

/// The one that ended the command, or the wait for the lock.
fn signal(exit: Exit) -> Option<u8> {
    match exit {
        Exit::Signalled { signal, .. } | Exit::Interrupted(signal) => Some(signal),
        _ => None,
    }
}

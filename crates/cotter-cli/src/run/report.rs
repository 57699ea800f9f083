//! `--report`: how it went, for programs.

use crate::exit::Exit;
use crate::output::{Console, Failure};
use cotter::FencingToken;
use std::fs;
use std::path::Path;
use tokio::time::Instant;

/// What is known so far.
#[derive(Debug)]
pub(super) struct Report {
    begin: Instant,
    held: Option<(Instant, FencingToken)>,
}

impl Report {
    pub(super) fn begin() -> Self {
        Self { begin: Instant::now(), held: None }
    }

    pub(super) fn held(&mut self, token: FencingToken) {
        self.held = Some((Instant::now(), token));
    }

    /// Since when the lock is held.
    pub(super) fn since(&self) -> Instant {
        self.held.map_or_else(Instant::now, |(since, _)| since)
    }

    /// Written beside and renamed, so that nobody reads half of it.
    pub(super) fn write(&self, file: &Path, result: &Result<Exit, Failure>, console: &Console) {
        let mut new = file.as_os_str().to_owned();
        new.push(".new");
        let written = fs::write(&new, self.text(result)).and_then(|()| fs::rename(&new, file));
        if let Err(error) = written {
            console.warning(&format!("the report {} was not written: {error}", file.display()));
        }
    }

    fn text(&self, result: &Result<Exit, Failure>) -> String {
        let exit = result.as_ref().map_or_else(|failure| failure.exit, |exit| *exit);
        let waited = self.held.map_or_else(|| self.begin.elapsed(), |(since, _)| since - self.begin);
        let report = serde_json::json!({
            "outcome": outcome(exit),
            "code": exit.code(),
            "token": self.held.map(|(_, token)| token.get()),
            "waited": waited.as_secs_f64(),
            "held": self.held.map(|(since, _)| since.elapsed().as_secs_f64()),
            "error": result.as_ref().err().map(|failure| &failure.message),
        });
        format!("{report}\n")
    }
}

fn outcome(exit: Exit) -> &'static str {
    match exit {
        Exit::Child(_) => "exited",
        Exit::Done => "done before",
        Exit::Lost => "lost",
        Exit::MaxHold => "max hold",
        Exit::Busy(_) => "busy",
        Exit::Interrupted(_) => "interrupted",
        Exit::CannotExecute | Exit::NotFound => "not started",
        _ => "failed",
    }
}

//! `cotter schedule` and `cotter jobs`, from outside.

mod file;
mod leased;
mod operators;
mod replicas;
mod running;
mod stopping;
mod systemd;

use crate::env::{Running, TestEnv};
use std::fs;
use std::path::PathBuf;

impl TestEnv {
    /// A file of jobs for the group `g`.
    fn jobs(&self, text: &str) -> PathBuf {
        let path = self.path("jobs.toml");
        fs::write(&path, format!("group = \"g\"\n{text}")).unwrap();
        path
    }

    /// A scheduler that runs these, as JSON.
    fn schedule(&self, text: &str) -> Running {
        let path = self.jobs(text);
        self.start(["--json", "schedule", path.to_str().unwrap()])
    }
}

/// A job that is due now, once, and runs this script.
fn once(name: &str, script: &str) -> String {
    format!(
        "[job.{name}]\nonce_at = 2020-01-01T00:00:00Z\nlate_within = \"87600h\"\nmisfire_window = \"87600h\"\nshell = '''{script}'''\n"
    )
}

/// The next event of this kind, whatever commands print in between.
#[track_caller]
fn event(run: &mut Running, kind: &str) -> serde_json::Value {
    loop {
        let line = run.line();
        let Ok(event) = serde_json::from_str::<serde_json::Value>(&line) else { continue };
        if event["event"] == kind {
            return event;
        }
    }
}

/// The next line that is no event.
#[track_caller]
fn printed(run: &mut Running) -> String {
    loop {
        let line = run.line();
        if !line.starts_with('{') {
            return line;
        }
    }
}

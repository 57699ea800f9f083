//! The log of the work that was done: one line for each start and end, appended in one call to a file that all replicas share.

use cotter_scheduler::Run;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// A file that lines are appended to.
#[derive(Debug)]
pub struct WorkLog {
    file: File,
    process: u32,
}

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Line {
    /// `started` or `ended`.
    pub what: String,
    /// Of which job.
    pub job: String,
    /// The id, if it was a one-shot run.
    pub one_shot: Option<String>,
    /// By which replica.
    pub process: u32,
    /// For which slot.
    pub slot: String,
    /// Under which token.
    pub token: u64,
    /// By the boot clock.
    pub at: u64,
}

impl WorkLog {
    /// Opens it.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path, process: u32) -> io::Result<Self> {
        Ok(Self { file: File::options().append(true).create(true).open(path)?, process })
    }

    pub(super) fn write(&self, job: &str, run: &Run, what: &str) -> io::Result<()> {
        let (slot, token, at) = (run.slot().to_string(), run.token().get(), crate::now());
        let (what, job, one_shot) = (what.to_owned(), job.to_owned(), run.one_shot().map(str::to_owned));
        let line = Line { what, job, one_shot, process: self.process, slot, token, at };
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        (&self.file).write_all(&text)
    }

    /// All lines, in the order in which they were written.
    ///
    /// # Errors
    /// The file cannot be read, or a line is garbled.
    pub fn read(path: &Path) -> io::Result<Vec<Line>> {
        let text = std::fs::read_to_string(path)?;
        text.lines().map(|line| serde_json::from_str(line).map_err(io::Error::from)).collect()
    }
}

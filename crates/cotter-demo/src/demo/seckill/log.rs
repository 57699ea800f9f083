//! The append-only log: one JSON object per line, each written atomically.

use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(super) enum Entry {
    /// A buyer was told that it bought one.
    Sale(Sold),
    /// A buyer was told that there are none left.
    SoldOut { buyer: u32 },
    /// A buyer could not be answered.
    Failed { buyer: u32, why: String },
    /// A buyer's release released the lock of another buyer.
    WrongRelease { buyer: u32, of: u32 },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sold {
    pub(super) buyer: u32,
    pub(super) process: u32,
    pub(super) remaining: u32,
    /// `None` if the lock has no tokens.
    pub(super) token: Option<u64>,
    /// Whether the lease had ended before this was written.
    pub(super) late: bool,
}

/// The path of the log.
pub(super) fn path(dir: &Path) -> PathBuf {
    dir.join("log")
}

/// The log, for writing.
#[derive(Debug)]
pub(super) struct Log(File);

impl Log {
    /// Opens the log, creating it if necessary.
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        Ok(Self(OpenOptions::new().create(true).append(true).open(path(dir))?))
    }

    pub(super) fn append(&self, entry: &Entry) -> io::Result<()> {
        let line = serde_json::to_string(entry)? + "\n";
        (&self.0).write_all(line.as_bytes())
    }
}

//! Where events are recorded.

use super::{Event, What};
use crate::now;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Writes the events of one process. Cloning gives another handle.
#[derive(Debug, Clone)]
pub struct Recorder {
    process: u32,
    log: Log,
}

#[derive(Debug, Clone)]
enum Log {
    /// One line per event, one write per line: whole, or not there, whenever the process is killed.
    File(Arc<File>),
    Memory(Arc<Mutex<Vec<Event>>>),
}

impl Recorder {
    /// Appends to a file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn to_file(path: &Path, process: u32) -> io::Result<Self> {
        let file = File::options().append(true).create(true).open(path)?;
        Ok(Self { process, log: Log::File(Arc::new(file)) })
    }

    /// Keeps the events here.
    pub fn in_memory() -> Self {
        Self { process: 0, log: Log::Memory(Arc::default()) }
    }

    /// The same log, for another process.
    #[must_use]
    pub fn of_process(&self, process: u32) -> Self {
        Self { process, log: self.log.clone() }
    }

    /// Records that this happened now.
    pub fn record(&self, what: What) {
        self.record_at(now(), what);
    }

    /// Records that this happened then.
    ///
    /// # Panics
    /// When the log cannot be written: a run with holes in its history proves nothing.
    pub fn record_at(&self, at: u64, what: What) {
        let event = Event { at, process: self.process, what };
        match &self.log {
            Log::File(file) => {
                let mut line = serde_json::to_vec(&event).expect("an event is plain data");
                line.push(b'\n');
                (&**file).write_all(&line).expect("the history can be written");
            }
            Log::Memory(events) => events.lock().unwrap_or_else(PoisonError::into_inner).push(event),
        }
    }

    /// The events that were recorded in memory.
    pub fn events(&self) -> Vec<Event> {
        match &self.log {
            Log::File(_) => Vec::new(),
            Log::Memory(events) => events.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

/// All events in the files of a folder.
///
/// # Errors
/// A file cannot be read, or a line that is not the last of its file is no event.
pub fn read_all(folder: &Path) -> io::Result<Vec<Event>> {
    let mut events = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let text = std::fs::read_to_string(entry?.path())?;
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for line in whole.lines() {
            events.push(serde_json::from_str(line).map_err(io::Error::other)?);
        }
    }
    Ok(events)
}

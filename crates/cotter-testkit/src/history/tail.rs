//! The history of a run that still goes on.

use super::Event;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The events in the files of a folder, which are being written.
#[derive(Debug)]
pub struct Tail {
    folder: PathBuf,
    /// By file, how much of it has been read: whole lines.
    read: HashMap<PathBuf, u64>,
    events: Vec<Event>,
}

impl Tail {
    /// Of this folder, from the beginning.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), read: HashMap::new(), events: Vec::new() }
    }

    /// What was found so far, file by file.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Reads what has been added.
    ///
    /// # Errors
    /// A file cannot be read, or a whole line is no event.
    pub fn read_on(&mut self) -> io::Result<()> {
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            let read = self.read.entry(entry.path()).or_insert(0);
            if entry.metadata()?.len() > *read {
                let (mut file, mut text) = (File::open(entry.path())?, String::new());
                file.seek(SeekFrom::Start(*read))?;
                file.read_to_string(&mut text)?;
                // The last line may be half written, by a process that is at it or was killed.
                let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
                for line in whole.lines() {
                    self.events.push(serde_json::from_str(line).map_err(io::Error::other)?);
                }
                *read += whole.len() as u64;
            }
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "servers"))]
mod tests {
    use super::*;
    use crate::history::{Recorder, What};
    use std::io::Write;

    #[test]
    fn each_event_is_read_once_however_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.jsonl");
        let (log, mut tail) = (Recorder::to_file(&path, 1).unwrap(), Tail::of(folder.path()));
        let mut counts = Vec::new();
        let mut read_on = || {
            tail.read_on().unwrap();
            counts.push(tail.events().len());
        };
        read_on();
        log.record(What::Stopped);
        read_on();
        read_on();
        let line = std::fs::read_to_string(&path).unwrap();
        let (one, other) = line.split_at(line.len() / 2);
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(one.as_bytes()).unwrap();
        read_on();
        file.write_all(other.as_bytes()).unwrap();
        Recorder::to_file(&folder.path().join("2.jsonl"), 2).unwrap().record(What::Finished);
        read_on();
        assert_eq!(counts, [0, 1, 1, 1, 3]);
    }
}

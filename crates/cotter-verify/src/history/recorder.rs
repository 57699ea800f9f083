//! Where events are recorded.

use super::{Event, What, write};
use crate::clock;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The events of a run, for all that record them. They are written as they come, so that a run that is cut off leaves a history.
#[derive(Debug, Clone)]
pub(crate) struct Recorder(Arc<Mutex<Log>>);

#[derive(Debug)]
struct Log {
    events: Vec<Event>,
    /// What these still say was under way when they were killed.
    dead: BTreeSet<u32>,
    file: Option<BufWriter<File>>,
    error: Option<io::Error>,
}

impl Recorder {
    pub(crate) fn new(file: Option<File>) -> Self {
        let file = file.map(BufWriter::new);
        Self(Arc::new(Mutex::new(Log { events: Vec::new(), dead: BTreeSet::new(), file, error: None })))
    }

    /// Records that this happened now.
    pub(crate) fn record(&self, process: u32, what: What) {
        self.record_at(clock::now(), process, what);
    }

    /// Records that this happened then.
    pub(crate) fn record_at(&self, at: u64, process: u32, what: What) {
        let mut log = self.log();
        match what {
            What::Started => _ = log.dead.remove(&process),
            What::Killed => {}
            _ if log.dead.contains(&process) => return,
            _ => {}
        }
        let event = Event { at, process, what };
        if let Some(file) = &mut log.file
            && let Err(error) = write(&event, file)
        {
            log.error.get_or_insert(error);
        }
        log.events.push(event);
    }

    /// Nothing that this process says from now on counts.
    pub(crate) fn silence(&self, process: u32) {
        self.log().dead.insert(process);
    }

    /// The events so far, as [`super::read`] has them.
    ///
    /// # Errors
    /// The file could not be written.
    pub(crate) fn events(&self) -> io::Result<Vec<(usize, Event)>> {
        let mut log = self.log();
        if let Some(error) = log.error.take() {
            return Err(error);
        }
        if let Some(file) = &mut log.file {
            file.flush()?;
        }
        let mut events: Vec<_> = log.events.iter().cloned().enumerate().map(|(at, e)| (at + 1, e)).collect();
        events.sort_by_key(|(_, event)| event.at);
        Ok(events)
    }

    fn log(&self) -> std::sync::MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

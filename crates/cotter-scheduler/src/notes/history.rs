//! The last runs of one job: a line of JSON each, oldest first.

use super::{LastRun, foreign};
use crate::{Ending, Result, UnixTime};

/// The maximum size of a history.
const MAX_BYTES: usize = 16 * 1024;

/// A run in the history of a job.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The slot of the run.
    pub slot: UnixTime,
    /// Whether it was requested by an operator and had no slot of its own.
    pub asked: bool,
    /// The number of the attempt.
    pub attempt: u32,
    /// Its fencing token.
    pub token: u64,
    /// When it started, by the store's clock.
    pub started: UnixTime,
    /// When it ended; for a crashed run, when the crash was noticed.
    pub ended: UnixTime,
    /// How it ended.
    pub ending: Ending,
}

/// The contents of the note.
#[derive(Debug, Clone, Default)]
pub(crate) struct History(Vec<u8>);

impl History {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Adds a run, and drops the oldest ones beyond `max`. Returns false if it is the last entry already: a replica that found
    /// it crashed may have died before it updated the job's note, and the next one finds the crash again.
    pub(crate) fn push(&mut self, run: &LastRun, max: usize) -> bool {
        let key = |run: &LastRun| (run.token, run.slot, run.attempt);
        if self.last().is_some_and(|last| key(&last) == key(run)) {
            return false;
        }
        let line = serde_json::to_vec(run).expect("a run can be written");
        self.0.extend_from_slice(&line);
        self.0.push(b'\n');
        let lines = self.0.iter().filter(|b| **b == b'\n').count();
        let mut from = 0;
        for _ in 0..lines.saturating_sub(max) {
            from += self.0[from..].iter().position(|b| *b == b'\n').map_or(0, |at| at + 1);
        }
        while self.0.len() - from > MAX_BYTES {
            from += self.0[from..].iter().position(|b| *b == b'\n').map_or(self.0.len() - from, |at| at + 1);
        }
        self.0.drain(..from);
        true
    }

    fn last(&self) -> Option<LastRun> {
        let line = self.0.strip_suffix(b"\n")?.rsplit(|b| *b == b'\n').next()?;
        serde_json::from_slice(line).ok()
    }

    /// The runs, oldest first.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>> {
        let lines = self.0.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| entry(line).map_err(|e| foreign("history of the job", &e))).collect()
    }
}

fn entry(line: &[u8]) -> serde_json::Result<Entry> {
    let run: LastRun = serde_json::from_slice(line)?;
    Ok(Entry {
        ending: run.ending().unwrap_or(Ending::Crashed),
        ended: run.ended.unwrap_or(run.started),
        slot: run.slot,
        asked: run.asked,
        attempt: run.attempt,
        token: run.token,
        started: run.started,
    })
}

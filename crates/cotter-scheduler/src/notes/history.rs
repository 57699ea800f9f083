//! The last runs of one job.
//!
//! The newest runs are in the state of the job. When there are several of them they are moved to a segment: a note that is
//! written once and overwritten when the history has gone around. A run therefore costs the same however long the history is.

mod read;

use super::{LastRun, OneShotKey};
use crate::{Ending, UnixTime};
pub(crate) use read::{Kept, load};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The number of runs in a segment. Fewer would be more notes, more would make the state longer.
pub(super) const SEGMENT_RUNS: usize = 3;
/// The maximum number of runs that a history keeps.
pub(crate) const MAX_RUNS: usize = 1000;
/// The number that it keeps unless another is asked for.
pub(crate) const USUAL_RUNS: usize = 100;
/// The number of failed runs whose output is kept.
const OUTPUTS: u64 = 16;

/// A run in the history of a job.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The slot of the run.
    pub slot: UnixTime,
    /// Whether it was requested, or a one-shot run. Its slot is one of the trigger only if it was requested
    /// [for that slot](crate::Jobs::trigger_slot).
    pub asked: bool,
    /// The id of the [one-shot run](crate::OneShot), if it was one.
    pub one_shot: Option<String>,
    /// The number of the attempt.
    pub attempt: u32,
    /// Its fencing token.
    pub token: u64,
    /// The host that ran it; empty if it is not known.
    pub host: String,
    /// When it started, by the store's clock.
    pub started: UnixTime,
    /// When it ended; for a crashed run, when the crash was noticed.
    pub ended: UnixTime,
    /// How it ended.
    pub ending: Ending,
    /// The exit code, if it has one; see [`Run::set_exit_code`](crate::Run::set_exit_code).
    pub code: Option<i32>,
    /// The end of its output, if it did not succeed; see [`Run::set_output`](crate::Run::set_output). Kept for the last
    /// 16 such runs.
    pub output: Option<String>,
    /// The latest request that it answers.
    pub(crate) request: Option<u64>,
    /// The one-shot run that it was, or the request for its slot.
    pub(crate) key: Option<OneShotKey>,
}

impl Entry {
    /// How long after its slot it started, [jitter](crate::Job::jitter) included. `None` for a further attempt, which was to
    /// start later, and for a run that was requested [for a slot](crate::Jobs::trigger_slot) that had passed.
    #[must_use]
    pub fn late(&self) -> Option<Duration> {
        let is_for_past_slot = self.key.is_some() && self.one_shot.is_none();
        (self.attempt == 1 && !is_for_past_slot).then(|| self.started.since(self.slot))
    }
}

/// Several runs, as one note.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) key: String,
    pub(crate) bytes: Vec<u8>,
}

impl Segment {
    /// The segment with this number; `None` if nothing is kept.
    pub(super) fn new(number: u64, kept: usize, runs: &[LastRun]) -> Option<Self> {
        let ring = ring(kept)?;
        let bytes = serde_json::to_vec(runs).expect("runs can be written");
        Some(Self { key: key(number % ring), bytes })
    }
}

fn key(place: u64) -> String {
    format!("history-{place}")
}

/// The number of segments for this many runs, besides those in the state.
fn ring(kept: usize) -> Option<u64> {
    (kept > 0).then(|| kept.div_ceil(SEGMENT_RUNS) as u64)
}

/// The output of a run that did not succeed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Output {
    #[serde(rename = "t")]
    pub(crate) token: u64,
    #[serde(rename = "x")]
    pub(crate) text: String,
}

impl Output {
    /// The key of the output with this number.
    pub(crate) fn key(number: u64) -> String {
        format!("output-{}", number % OUTPUTS)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("an output can be written")
    }
}

/// The keys of all notes of the longest history, which one may have been before.
pub(crate) fn all_keys() -> Vec<String> {
    let segments = (0..ring(MAX_RUNS).unwrap_or_default()).map(key);
    let outputs = (0..OUTPUTS).map(Output::key);
    segments.chain(outputs).collect()
}

//! Jobs that follow others: due once each of these has succeeded since it last ran for them.
//!
//! The ends of the successes that a run is for are written with its start, so that no other run is for the same ones, and none is lost
//! while nobody looks.

use super::{Decision, DueRun};
use crate::UnixTime;
use crate::definition::Definition;
use crate::notes::{JobControl, State};
use std::collections::BTreeMap;

/// The end of the last success of each job that has one.
pub(crate) type Successes = BTreeMap<String, UnixTime>;

/// Those of the jobs that are followed, if none of them is missing.
pub(super) fn complete<'a>(
    state: &State,
    seen: &Successes,
    followed: impl Iterator<Item = &'a str>,
) -> Option<Successes> {
    // The definition is older than its note, and a job may have succeeded in between.
    let begin = state.since.min(state.defined_at);
    // Not merely another one: what was read may be out of date.
    let is_new = |job: &str, at: UnixTime| at > state.followed.get(job).copied().unwrap_or(begin).max(begin);
    let set: Option<Successes> = followed
        .map(|job| seen.get(job).filter(|at| is_new(job, **at)).map(|at| (job.to_owned(), *at)))
        .collect();
    set.filter(|set| !set.is_empty())
}

impl Decision {
    /// It waits while the job is paused, and is never too late. The slot is the end of the last success that was missing.
    pub(super) fn find_followed(&mut self, definition: &Definition, control: &JobControl) {
        let policy = &definition.policy;
        if self.due.is_some() || self.next.is_some() || !policy.enabled || control.pause.is_some() {
            return;
        }
        let followed = policy.after.iter().map(|job| &**job);
        let Some(set) = complete(&self.state, &control.successes, followed) else { return };
        let at = set.values().copied().fold(UnixTime::EPOCH, UnixTime::max);
        self.due = Some(DueRun { followed: set, ..DueRun::first(at) });
    }
}

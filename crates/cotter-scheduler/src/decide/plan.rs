//! What one kind of trigger says about one moment.

use crate::UnixTime;
use crate::definition::Definition;
use crate::job::Policy;
use crate::notes::{JobControl, State};
use crate::{Ending, Misfire};
use std::time::Duration;

/// The smallest step of time.
pub(super) const TICK: Duration = Duration::from_nanos(1);

/// What triggers look at. All instants are those of slots: the jitter of the job is taken off.
pub(super) struct Look<'a> {
    pub(super) policy: &'a Policy,
    pub(super) state: &'a State,
    pub(super) now: UnixTime,
    /// No slot before this.
    pub(super) floor: UnixTime,
    /// When a pause ended, long ago where there was none.
    pub(super) resumed: UnixTime,
    /// The last run was ours, under this hold.
    pub(super) living: bool,
    /// From when to when the last run went on, if it ended in order.
    pub(super) going: Option<(UnixTime, UnixTime)>,
}

/// What is to be done with the slots up to now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) due: Option<UnixTime>,
    /// Slots up to this one are done with, whether or not one is due.
    pub(super) last: Option<UnixTime>,
    pub(super) missed: u64,
    pub(super) skipped: u64,
    pub(super) merged: u64,
    /// When nothing is due.
    pub(super) next: Option<UnixTime>,
}

impl<'a> Look<'a> {
    pub(super) fn new(
        definition: &'a Definition,
        state: &'a State,
        control: &JobControl,
        now: UnixTime,
        living: bool,
    ) -> Self {
        let shift = definition.shift;
        let begin = state.anchor + definition.policy.initial_delay;
        let resumed = control.resumed_at.map_or(UnixTime::EPOCH, |at| at.min(now));
        let crashed = Some(Ending::Crashed.word());
        let over = state.run.as_ref().filter(|run| run.outcome.as_deref() != crashed);
        let going = over.and_then(|run| Some((run.started - shift, run.ended? - shift)));
        Self {
            policy: &definition.policy,
            state,
            now: now - shift,
            resumed,
            floor: begin.max(state.since).max(resumed),
            living,
            going,
        }
    }

    /// Slots up to this one do not matter any more: done with, before the floor, or forgotten.
    pub(super) fn baseline(&self) -> UnixTime {
        let forgotten = self.now - self.policy.misfire_window - TICK;
        self.state.last.unwrap_or(UnixTime::EPOCH - TICK).max(self.floor - TICK).max(forgotten)
    }

    pub(super) fn is_on_time(&self, slot: UnixTime) -> bool {
        self.now.since(slot) <= self.policy.late_within
    }

    /// Whether a slot passed while the last run was going on.
    pub(super) fn was_going(&self, slot: UnixTime) -> bool {
        self.going.is_some_and(|(from, to)| (from..=to).contains(&slot))
    }

    pub(super) fn wants_all(&self) -> bool {
        self.policy.misfire == Misfire::All
    }

    pub(super) fn wants_latest(&self) -> bool {
        self.policy.misfire != Misfire::Skip
    }
}

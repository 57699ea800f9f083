//! The inputs of a decision, and the plan that a trigger makes of them.

use super::Followed;
use crate::UnixTime;
use crate::calendar::Calendar;
use crate::definition::Definition;
use crate::job::Policy;
use crate::notes::{JobControl, State};
use crate::{Concurrency, Ending, Misfire};
use std::time::Duration;

/// The smallest step of time.
pub(super) const TICK: Duration = Duration::from_nanos(1);

/// The inputs of a decision. All instants are on the time line of slots: the jitter of the job is subtracted.
pub(super) struct Planner<'a> {
    pub(super) policy: &'a Policy,
    pub(super) calendar: &'a Calendar,
    pub(super) state: &'a State,
    pub(super) now: UnixTime,
    /// The earliest possible slot.
    pub(super) floor: UnixTime,
    /// The end of the last pause; 1970 if there was none.
    pub(super) resumed: UnixTime,
    pub(super) followed: Followed,
    /// Start and end of the last run, unless it crashed, or slots replace runs.
    pub(super) last_run: Option<(UnixTime, UnixTime)>,
}

/// A trigger's decision about the slots up to now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) due: Option<UnixTime>,
    /// The latest slot that is settled, whether or not one is due.
    pub(super) last: Option<UnixTime>,
    pub(super) missed: u64,
    pub(super) skipped: u64,
    /// Whether there may be more of both.
    pub(super) more: bool,
    pub(super) merged: u64,
    /// The next slot, if nothing is due.
    pub(super) next: Option<UnixTime>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        definition: &'a Definition,
        state: &'a State,
        control: &JobControl,
        now: UnixTime,
        followed: Followed,
    ) -> Self {
        let shift = definition.shift;
        let begin = state.anchor + definition.policy.initial_delay;
        let resumed = control.resumed_at.map_or(UnixTime::EPOCH, |at| at.min(now));
        let crashed = Some(Ending::Crashed.word());
        let forbids = definition.policy.concurrency == Concurrency::Forbid;
        let over = state.run.as_ref().filter(|run| forbids && run.outcome.as_deref() != crashed);
        let last_run = over.and_then(|run| Some((run.started - shift, run.ended? - shift)));
        Self {
            policy: &definition.policy,
            calendar: &definition.trigger.1,
            state,
            now: now - shift,
            resumed,
            floor: begin.max(state.since).max(resumed).max(definition.trigger.1.from.unwrap_or(begin)),
            followed: followed.earlier_by(shift),
            last_run,
        }
    }

    /// No slot up to this instant is still to be decided about: settled, or before the floor.
    pub(super) fn settled(&self) -> UnixTime {
        self.state.last.unwrap_or(UnixTime::EPOCH - TICK).max(self.floor - TICK)
    }

    /// No slot up to this instant is run any more: those after the [settled](Self::settled) ones are too old, and count as missed.
    pub(super) fn baseline(&self) -> UnixTime {
        self.settled().max(self.now - self.policy.misfire_window - TICK)
    }

    pub(super) fn is_on_time(&self, slot: UnixTime) -> bool {
        self.now.since(slot) <= self.policy.late_within
    }

    /// Whether a slot passed during the last run.
    pub(super) fn overlaps_last_run(&self, slot: UnixTime) -> bool {
        self.last_run.is_some_and(|(from, to)| (from..=to).contains(&slot))
    }

    pub(super) fn wants_all(&self) -> bool {
        self.policy.misfire == Misfire::All
    }

    pub(super) fn wants_latest(&self) -> bool {
        self.policy.misfire != Misfire::Skip
    }
}

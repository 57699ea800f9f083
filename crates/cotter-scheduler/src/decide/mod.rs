//! Which slot of a job is due: a pure function of its note, what was asked, and the store's clock.
//!
//! | file | concept |
//! |---|---|
//! | `plan` | what one kind of trigger says about one moment |
//! | `cron` `rate` `delay` `once` | one per kind of trigger |

mod cron;
mod delay;
mod once;
mod plan;
mod rate;
#[cfg(test)]
mod tests;

use crate::definition::Definition;
use crate::notes::{JobControl, LastRun, State};
use crate::trigger::Kind;
use crate::{Ending, Job, OnCrash, UnixTime};
use plan::{Look, Plan};
use std::time::Duration;

/// A note may be this far ahead of the store's clock before it is an alarm.
const AHEAD: Duration = Duration::from_secs(1);

/// One run that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) at: UnixTime,
    pub(crate) attempt: u32,
    pub(crate) crashes: u32,
    /// It was asked for.
    pub(crate) asked: bool,
    /// Requests up to this one are done with by it.
    pub(crate) request: Option<u64>,
}

/// What is to be done now.
#[derive(Debug, Clone)]
pub(crate) struct Decision {
    /// Run this, then decide again.
    pub(crate) due: Option<Slot>,
    /// The note as it has to be, before [`State::begin`].
    pub(crate) state: State,
    /// Whether that differs from the one that was read.
    pub(crate) changed: bool,
    /// Slots that are dropped, or covered by the one that is run.
    pub(crate) missed: u64,
    /// Slots that passed while the last run was going on.
    pub(crate) skipped: u64,
    /// Slots of a backlog that was too long.
    pub(crate) merged: u64,
    /// The note was ahead of the store's clock.
    pub(crate) alarm: bool,
    /// This run has never ended.
    pub(crate) crashed: Option<LastRun>,
    /// Another definition of the job holds.
    pub(crate) stands_by: bool,
    /// When nothing is due: the start of the next slot.
    pub(crate) next: Option<UnixTime>,
}

/// Decides under the lock. `living`: the last slot was run under this very hold.
pub(crate) fn decide(
    definition: &Definition,
    note: Option<&State>,
    control: &JobControl,
    now: UnixTime,
    living: bool,
) -> Decision {
    let state = note.cloned().unwrap_or_else(|| State::fresh(definition, now, control.requests));
    let mut d = Decision::nothing(state);
    d.alarm = repair(&mut d.state, now);
    d.define(definition, now);
    if !d.stands_by {
        d.find_crash(definition, control, now);
        d.find_request(definition, control, now);
    }
    if d.due.is_none() {
        d.find_slot(definition, control, now, living);
    }
    d.changed = note != Some(&d.state);
    d
}

impl Decision {
    fn nothing(state: State) -> Self {
        Self {
            due: None,
            state,
            changed: false,
            missed: 0,
            skipped: 0,
            merged: 0,
            alarm: false,
            crashed: None,
            stands_by: false,
            next: None,
        }
    }

    /// Whose definition holds.
    fn define(&mut self, ours: &Definition, now: UnixTime) {
        let state = &mut self.state;
        let theirs = (state.generation, state.defined_at);
        if state.hash == ours.hash {
            (state.generation, state.defined_at) = theirs.max(ours.rank(now));
            return;
        }
        self.stands_by = ours.rank(now) < theirs;
        if self.stands_by {
            return;
        }
        state.hash.clone_from(&ours.hash);
        (state.generation, state.defined_at) = ours.rank(now);
        if state.trigger != ours.text {
            state.trigger.clone_from(&ours.text);
            state.since = now;
        }
    }

    /// A run that has not ended although we hold the lock never will.
    fn find_crash(&mut self, definition: &Definition, control: &JobControl, now: UnixTime) {
        let Some(run) = self.state.going().cloned() else { return };
        self.state.end(now, &Ending::Crashed);
        self.crashed = self.state.run.clone();
        let crashes = run.crashes + 1;
        let again = definition.policy.on_crash == OnCrash::Rerun && crashes < Job::MOST_CRASHES;
        if again && definition.policy.enabled && !control.paused {
            let (at, attempt, asked) = (run.slot, run.attempt + 1, run.asked);
            let request = asked.then_some(self.state.handled);
            self.due = Some(Slot { at, attempt, crashes, asked, request });
        }
    }

    fn find_request(&mut self, definition: &Definition, control: &JobControl, now: UnixTime) {
        if self.due.is_some() || control.requests <= self.state.handled {
            return;
        }
        if !definition.policy.enabled {
            self.state.handled = control.requests;
            return;
        }
        let request = Some(control.requests);
        self.due = Some(Slot { at: now, attempt: 1, crashes: 0, asked: true, request });
    }

    fn find_slot(&mut self, definition: &Definition, control: &JobControl, now: UnixTime, living: bool) {
        if !definition.policy.enabled || control.paused {
            return;
        }
        if self.stands_by {
            self.next = after_now(definition, Some(&self.state), now);
            return;
        }
        let look = Look::new(definition, &self.state, control, now, living);
        let Plan { due, last, missed, skipped, merged, next } = look.plan(&definition.trigger);
        self.due = due.map(|at| Slot { at, attempt: 1, crashes: 0, asked: false, request: None });
        self.state.last = self.state.last.max(last);
        (self.missed, self.skipped, self.merged) = (missed, skipped, merged);
        self.next = next.map(|at| at + definition.shift);
    }
}

/// Brings back what is ahead of the store's clock: one slot may be given up, but not a year of them.
fn repair(state: &mut State, now: UnixTime) -> bool {
    let mut found = false;
    let mut bring_back = |at: &mut UnixTime| {
        if *at > now + AHEAD {
            *at = now;
            found = true;
        }
    };
    if let Some(last) = &mut state.last {
        bring_back(last);
    }
    bring_back(&mut state.anchor);
    bring_back(&mut state.since);
    bring_back(&mut state.defined_at);
    if let Some(run) = &mut state.run {
        bring_back(&mut run.started);
        if let Some(ended) = &mut run.ended {
            bring_back(ended);
        }
    }
    found
}

impl Look<'_> {
    fn plan(&self, trigger: &crate::Trigger) -> Plan {
        match &trigger.0 {
            Kind::Cron(cron, zone) => self.cron(cron, zone),
            Kind::Rate(period) => self.rate(*period),
            Kind::Delay(delay) => self.delay(*delay),
            Kind::Once(at) => self.once(*at),
        }
    }
}

/// The start of the next slot after now by the trigger alone, for those who do not decide.
pub(crate) fn after_now(definition: &Definition, note: Option<&State>, now: UnixTime) -> Option<UnixTime> {
    let shift = definition.shift;
    let next = match &definition.trigger.0 {
        Kind::Rate(period) => {
            let anchor = note.map_or(now, |state| state.anchor) + definition.policy.initial_delay;
            Some(rate::next_on_grid(anchor, *period, now - shift))
        }
        Kind::Delay(delay) => Some(now + *delay),
        Kind::Cron(..) | Kind::Once(_) => definition.trigger.next_after(now - shift),
    };
    next.map(|at| at + shift)
}

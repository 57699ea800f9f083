//! Decides which slot of a job is due: a pure function of its note, the operators' requests, and the store's clock.
//!
//! | file | concept |
//! |---|---|
//! | `planner` | the inputs of a decision, and the plan that a trigger makes of them |
//! | `cron` `rate` `delay` `once` | the slots of each kind of trigger |
//! | `chain` | jobs that follow others |
//! | `define` | which definition is in effect |
//! | `stored` | the slots of the definition in effect, as far as the note tells |
//! | `known` | those of them that can be told afterwards |
//! | `lapse` | when that definition lapses because nobody runs it |

mod chain;
mod cron;
mod define;
mod delay;
mod known;
mod lapse;
mod once;
mod planner;
mod rate;
mod stored;
#[cfg(test)]
mod tests;

use crate::definition::Definition;
use crate::notes::{Added, Arguments, JobControl, LastRun, OneShotKey, State};
use crate::trigger::Kind;
use crate::{Ending, Job, OnCrash, UnixTime};
pub(crate) use chain::Successes;
pub(crate) use known::KnownSlots;
pub(crate) use lapse::{DOUBT, OVERDUE};
use planner::{Plan, Planner};
use rate::next_on_grid;
use std::time::Duration;
pub(crate) use stored::{due_since, settled_until, slot_after};

/// How far a note may be ahead of the store's clock without an alarm.
pub(crate) const MAX_NOTE_LEAD: Duration = Duration::from_secs(1);

/// How often a job that runs only on demand is looked at, and one for which this replica stands by.
const RECHECK: Duration = Duration::from_secs(60);

/// A run that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DueRun {
    pub(crate) at: UnixTime,
    pub(crate) attempt: u32,
    /// How often a process has died in this slot, and how often one was stopped.
    pub(crate) crashes: u32,
    pub(crate) stops: u32,
    /// Whether it was requested, or is a one-shot run, and has no slot of the trigger.
    pub(crate) asked: bool,
    /// The latest request that this run answers, or [`OF_SLOT`](Self::OF_SLOT).
    pub(crate) request: Option<u64>,
    /// When a run for a requested slot became due, as far as this is known: long after the slot.
    pub(crate) requested_at: Option<UnixTime>,
    /// The successes of other jobs that it is for.
    pub(crate) followed: Successes,
    /// The arguments of that request.
    pub(crate) arguments: Arguments,
    /// The one-shot run that it is.
    pub(crate) one_shot: Option<OneShotKey>,
}

impl DueRun {
    /// The number of all requests for slots, which are one-shot runs. Those to run now are counted from 1.
    pub(crate) const OF_SLOT: u64 = 0;

    /// The first attempt of a slot.
    pub(crate) fn first(at: UnixTime) -> Self {
        let arguments = Arguments::new();
        Self {
            at,
            attempt: 1,
            crashes: 0,
            stops: 0,
            asked: false,
            request: None,
            requested_at: None,
            followed: Successes::new(),
            arguments,
            one_shot: None,
        }
    }

    /// Another attempt of a run.
    fn again(run: &LastRun, handled: u64) -> Self {
        Self {
            at: run.slot,
            attempt: run.attempt + 1,
            crashes: run.crashes,
            stops: run.stops,
            asked: run.asked,
            request: if run.one_shot.is_some() { run.request } else { run.asked.then_some(handled) },
            requested_at: (run.request == Some(Self::OF_SLOT)).then_some(run.started),
            followed: Successes::new(),
            arguments: run.arguments.clone(),
            one_shot: run.one_shot.clone(),
        }
    }

    /// The same after a crash.
    fn after_crash(run: &LastRun, handled: u64) -> Self {
        Self { crashes: run.crashes + 1, ..Self::again(run, handled) }
    }

    /// The same after its scheduler was stopped.
    fn after_stop(run: &LastRun, handled: u64) -> Self {
        Self { stops: run.stops + 1, ..Self::again(run, handled) }
    }

    /// The number of attempts before this one that have failed.
    pub(crate) fn retried(&self) -> u32 {
        (self.attempt - 1).saturating_sub(self.crashes).saturating_sub(self.stops)
    }
}

/// How far this process has followed the job up to now. The slots of a fixed rate that pass while it does are a backlog, which
/// runs back to back; all others are judged by the misfire policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Followed {
    /// Not at all: it has just acquired the lock.
    Not,
    /// It has been waiting for a worker since then, without the lock.
    Since(UnixTime),
    /// The last run was under this hold of the lock.
    Held,
}

impl Followed {
    fn earlier_by(self, shift: Duration) -> Self {
        match self {
            Self::Since(since) => Self::Since(since - shift),
            other => other,
        }
    }
}

/// The result of a decision.
#[derive(Debug, Clone)]
pub(crate) struct Decision {
    /// The run to start; afterwards the next decision is made.
    pub(crate) due: Option<DueRun>,
    /// The new note, before [`State::begin`].
    pub(crate) state: State,
    /// Whether `state` differs from the note that was read.
    pub(crate) changed: bool,
    /// Number of slots that are dropped, or covered by the one that is run.
    pub(crate) missed: u64,
    /// Number of slots that passed during the last run.
    pub(crate) skipped: u64,
    /// Whether counting has stopped before the end: there may be more of both.
    pub(crate) more: bool,
    /// Number of slots dropped from a backlog that was too long.
    pub(crate) merged: u64,
    /// Whether the note was ahead of the store's clock.
    pub(crate) alarm: bool,
    /// A run that never ended.
    pub(crate) crashed: Option<LastRun>,
    /// Whether another definition of the job is in effect.
    pub(crate) stands_by: bool,
    /// Whether to note that perhaps nobody runs that definition.
    pub(crate) doubts: bool,
    /// That definition has lapsed, and is replaced: why. What is due is decided afterwards.
    pub(crate) taken_over: Option<String>,
    /// When to judge that definition again.
    judge_at: Option<UnixTime>,
    /// If nothing is due: the start of the next slot.
    pub(crate) next: Option<UnixTime>,
}

/// Decides under the lock. `max_lead` is how far the note may be ahead of the clock.
pub(crate) fn decide(
    definition: &Definition,
    note: Option<&State>,
    control: &JobControl,
    now: UnixTime,
    max_lead: Duration,
    followed: Followed,
) -> Decision {
    let state = note.cloned().unwrap_or_else(|| State::fresh(definition, now, control.requests));
    let mut d = Decision::nothing(state);
    d.alarm = repair(&mut d.state, now, max_lead);
    d.define(definition, control, now);
    if d.taken_over.is_some() {
        (d.next, d.changed) = (Some(now), true);
        return d;
    }
    if !d.stands_by {
        d.find_crash(definition, control, now);
        d.find_retry(definition, control, now);
        d.find_request(definition, control, now);
        d.find_one_shot(definition, control, now);
        d.find_followed(definition, control);
    }
    if d.due.is_none() {
        d.find_slot(definition, control, now, followed);
    }
    if d.due.is_none() {
        d.look_ahead(definition, control, now);
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
            more: false,
            merged: 0,
            alarm: false,
            crashed: None,
            stands_by: false,
            doubts: false,
            taken_over: None,
            judge_at: None,
            next: None,
        }
    }

    /// A run that has not ended although its lock is free has crashed. One that an operator wanted to end is not repeated.
    fn find_crash(&mut self, definition: &Definition, control: &JobControl, now: UnixTime) {
        let Some(run) = self.state.unfinished().cloned() else { return };
        self.state.end(now, &Ending::Crashed);
        self.crashed = self.state.run.clone();
        let is_asked_to_end = control.stopped_by(run.token).is_some();
        let again = may_crash_again(definition, run.crashes) && !is_asked_to_end;
        if again && definition.policy.enabled && control.pause.is_none() {
            self.due = Some(DueRun::after_crash(&run, self.state.handled));
        }
    }

    /// A failed run that is repeated, by whichever replica, or one that was stopped with its scheduler; its slot comes before all
    /// others. A run that has lost its lock is a crash, even if that could be recorded.
    fn find_retry(&mut self, definition: &Definition, control: &JobControl, now: UnixTime) {
        let policy = &definition.policy;
        if self.due.is_some() || self.crashed.is_some() || !policy.enabled || control.pause.is_some() {
            return;
        }
        let Some(run) = self.state.run.as_ref().filter(|run| run.ended.is_some()) else { return };
        let is_stopped = run.has_ended(&Ending::Stopped);
        let may_crash_again =
            |crashes| may_crash_again(definition, crashes) && control.stopped_by(run.token).is_none();
        let (due, at) = match run.retry_at {
            Some(_) if is_stopped && policy.reruns_stopped() => {
                (DueRun::after_stop(run, self.state.handled), now)
            }
            // Not later than it would be now, in case the store's clock went backwards.
            Some(at) if !is_stopped && run.retried() < policy.retries => {
                (DueRun::again(run, self.state.handled), at.min(now + policy.retry_pause(run.retried())))
            }
            None if run.has_ended(&Ending::Lost) && may_crash_again(run.crashes) => {
                (DueRun::after_crash(run, self.state.handled), now)
            }
            _ => return,
        };
        if at > now {
            self.next = Some(at);
            return;
        }
        self.due = Some(due);
    }

    fn find_request(&mut self, definition: &Definition, control: &JobControl, now: UnixTime) {
        if self.due.is_some() || self.next.is_some() || control.requests <= self.state.handled {
            return;
        }
        if !definition.policy.enabled {
            self.state.handled = control.requests;
            return;
        }
        let (request, arguments) = control.next_request(self.state.handled);
        let request = Some(request);
        self.due = Some(DueRun { asked: true, request, arguments, ..DueRun::first(now) });
    }

    /// The earliest one-shot run, if its time has come. It is never too late.
    fn find_one_shot(&mut self, definition: &Definition, control: &JobControl, now: UnixTime) {
        if self.due.is_some() || self.next.is_some() || !definition.policy.enabled {
            return;
        }
        let Some(added) = self.next_one_shot(control).filter(|added| added.at <= now) else { return };
        let (arguments, one_shot) = (added.arguments.clone(), Some(added.key.clone()));
        let requested_at = added.requested_at;
        let request = requested_at.map(|_| DueRun::OF_SLOT);
        let first = DueRun::first(added.at);
        self.due = Some(DueRun { asked: true, request, requested_at, arguments, one_shot, ..first });
    }

    /// The earliest one-shot run that has not begun.
    fn next_one_shot<'c>(&self, control: &'c JobControl) -> Option<&'c Added> {
        control.one_shots.iter().find(|added| self.state.one_shot() != Some(&added.key))
    }

    /// Waits for the next one-shot run as well. One that is overdue is another replica's if this one stands by.
    fn look_ahead(&mut self, definition: &Definition, control: &JobControl, now: UnixTime) {
        if !definition.policy.enabled || control.pause.is_some() {
            return;
        }
        let at = self.next_one_shot(control).map(|added| added.at).filter(|at| *at > now);
        // A job without slots is looked at now and then, in case the store has lost its note: nothing else would write it again.
        let rechecked = self.stands_by || matches!(definition.trigger.0, Kind::Demand);
        let recheck = rechecked.then(|| now + RECHECK);
        self.next = self.next.into_iter().chain(at).chain(recheck).chain(self.judge_at).min();
    }

    fn find_slot(
        &mut self,
        definition: &Definition,
        control: &JobControl,
        now: UnixTime,
        followed: Followed,
    ) {
        if !definition.policy.enabled || control.pause.is_some() || self.next.is_some() {
            return;
        }
        if self.stands_by {
            self.next = after_now(definition, Some(&self.state), now);
            return;
        }
        let planner = Planner::new(definition, &self.state, control, now, followed);
        let Plan { due, last, missed, skipped, more, merged, next } = planner.plan(&definition.trigger);
        let calendar = &definition.trigger.1;
        let (due, next) = (due.filter(|at| calendar.covers(*at)), next.filter(|at| calendar.covers(*at)));
        self.due = due.map(DueRun::first);
        self.state.last = self.state.last.max(last);
        (self.missed, self.skipped, self.more, self.merged) = (missed, skipped, more, merged);
        self.next = next.map(|at| at + definition.shift);
    }
}

/// Whether a run is repeated after a crash, which is not one of those that it has had.
pub(crate) fn may_crash_again(definition: &Definition, crashes: u32) -> bool {
    definition.policy.on_crash == OnCrash::Rerun && crashes + 1 < Job::MAX_CRASHES
}

/// Resets instants that are ahead of the store's clock: one slot may be lost, but not a year of them.
fn repair(state: &mut State, now: UnixTime, max_lead: Duration) -> bool {
    let mut found = false;
    let mut reset = |at: &mut UnixTime| {
        if *at > now + max_lead {
            *at = now;
            found = true;
        }
    };
    if let Some(last) = &mut state.last {
        reset(last);
    }
    reset(&mut state.anchor);
    reset(&mut state.since);
    reset(&mut state.defined_at);
    state.doubted.iter_mut().chain(state.followed.values_mut()).for_each(&mut reset);
    if let Some(run) = &mut state.run {
        reset(&mut run.started);
        if let Some(ended) = &mut run.ended {
            reset(ended);
        }
    }
    found
}

impl Planner<'_> {
    fn plan(&self, trigger: &crate::Trigger) -> Plan {
        match &trigger.0 {
            Kind::Cron(cron, zone) => self.cron(cron, zone),
            Kind::Rate(period) => self.rate(*period),
            Kind::Delay(delay) => self.delay(*delay),
            Kind::Once(at) => self.once(*at),
            Kind::Demand => Plan::default(),
        }
    }
}

/// The start of the next slot according to the trigger alone, for callers without a decision.
pub(crate) fn after_now(definition: &Definition, note: Option<&State>, now: UnixTime) -> Option<UnixTime> {
    let shift = definition.shift;
    let next = match &definition.trigger.0 {
        Kind::Rate(period) => {
            let anchor = note.map_or(now, |state| state.anchor) + definition.policy.initial_delay;
            Some(next_on_grid(anchor, *period, now - shift))
        }
        Kind::Delay(delay) => Some(now + *delay),
        Kind::Cron(cron, zone) => {
            let begin = note.map_or(now - shift, |state| state.anchor + definition.policy.initial_delay);
            definition.trigger.1.next(cron, zone, (begin - planner::TICK).max(now - shift)).look()
        }
        Kind::Once(_) | Kind::Demand => definition.trigger.next_after(now - shift),
    };
    next.filter(|at| definition.trigger.1.covers(*at)).map(|at| at + shift)
}

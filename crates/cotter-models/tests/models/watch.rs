//! The properties: what is counted in every state, and what breaks a promise.

use crate::bounds::Fault;
use crate::model::Protocol;
use crate::rules::{Promise, Rule};
use crate::state::{Claim, Entry, Life, Phase, Process, State, owner_of};

/// Events that must be reachable, so that the model is not true of nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Event {
    GrantedByMessage,
    LearnedByQuestion,
    HandedOnAfterExpiry,
    MessageRefused,
    UnknownReturned,
    PassedOver,
    SilentDropped,
    PausedPastDeadline,
}

impl Event {
    pub(crate) const ALL: [Self; 8] = [
        Self::GrantedByMessage,
        Self::LearnedByQuestion,
        Self::HandedOnAfterExpiry,
        Self::MessageRefused,
        Self::UnknownReturned,
        Self::PassedOver,
        Self::SilentDropped,
        Self::PausedPastDeadline,
    ];

    pub(crate) fn bit(self) -> u16 {
        1 << self as u8
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::GrantedByMessage => "granted by message",
            Self::LearnedByQuestion => "a lost grant learned by question",
            Self::HandedOnAfterExpiry => "handed on after an expiry",
            Self::MessageRefused => "a message of another ticket refused",
            Self::UnknownReturned => "an unknown grant given back",
            Self::PassedOver => "a deaf waiter passed over",
            Self::SilentDropped => "a silent waiter dropped",
            Self::PausedPastDeadline => "a holder paused past its deadline",
        }
    }
}

impl Protocol {
    pub(crate) fn saw(&self, s: &mut State, event: Event) {
        if self.bounds.record {
            s.watch.seen |= event.bit();
        }
    }

    /// A grant is about to be given: has somebody who lives waited for longer?
    pub(crate) fn check_order(&self, s: &mut State, claim: Claim, ticket: u16) {
        let own = &s.processes[owner_of(claim)];
        let rank = if own.is_at(claim) && own.arrived != 0 { own.arrived } else { ticket };
        let overtaken = s.processes.iter().any(|w| {
            let waits = w.life != Life::Gone && w.phase == Phase::Waiting && !w.deaf && w.claim != claim;
            waits && w.arrived != 0 && w.arrived < rank && !self.fell_silent(s, w)
        });
        if overtaken {
            s.watch.broken |= Promise::Order.bit();
        }
    }

    fn fell_silent(&self, s: &State, waiter: &Process) -> bool {
        match s.server.queue.iter().find(|e| e.claim == waiter.claim) {
            Some(entry) => self.clock(s).saturating_sub(entry.asked) >= self.bounds.silence,
            None => s.now - waiter.sent >= self.bounds.silence,
        }
    }

    /// A waiter lost its place through silence, which is right unless its questions were refused.
    pub(crate) fn note_silent(&self, s: &mut State, entry: &Entry) {
        self.saw(s, Event::SilentDropped);
        let clock = self.clock(s);
        if entry.refused > 0 && clock.saturating_sub(entry.refused) < self.bounds.silence {
            s.watch.broken |= Promise::Order.bit();
        }
        let process = &mut s.processes[owner_of(entry.claim)];
        if self.bounds.allows(Fault::Standstill) && process.is_running() && process.is_at(entry.claim) {
            // It asked all the time, and the server did not hear it.
            s.watch.broken |= Promise::Order.bit();
        }
        let process = &mut s.processes[owner_of(entry.claim)];
        if process.is_at(entry.claim) {
            process.arrived = 0;
        }
    }

    /// Counts one tick of waiting. Delays that a fault causes are the fault's, not the protocol's.
    pub(crate) fn count(&self, s: &mut State) {
        self.note_pauses(s);
        if s.watch.restored || self.is_disturbed(s) {
            return s.watch.forgive();
        }
        let lease = self.lease(s);
        let waits = |p: &Process| p.is_running() && p.phase == Phase::Waiting;
        let waited =
            !s.full && s.processes.iter().any(waits) && !s.processes.iter().any(|p| p.believes(s.now));
        let could_be_theirs = lease.is_none_or(|hold| {
            let owner = &s.processes[owner_of(hold.claim)];
            hold.deaf || waits(owner) && owner.is_at(hold.claim)
        });
        let stray = lease.is_some_and(|hold| {
            let owner = &s.processes[owner_of(hold.claim)];
            let given_up = owner.is_running() && !owner.is_at(hold.claim);
            given_up && (hold.told || !self.bounds.late_beyond_undo)
        });
        s.watch.dark = if waited { s.watch.dark + 1 } else { 0 };
        s.watch.idle = if waited && could_be_theirs { s.watch.idle + 1 } else { 0 };
        s.watch.stray = if stray { s.watch.stray + 1 } else { 0 };
    }

    fn is_disturbed(&self, s: &State) -> bool {
        s.refuse
            || s.still > 0
            || s.requests.iter().any(|r| r.late)
            || s.replies.iter().any(|r| r.late)
            || s.messages.iter().any(|m| m.late)
    }

    fn note_pauses(&self, s: &mut State) {
        let over = |p: &Process| p.life == Life::Paused && p.phase == Phase::Holding && p.deadline <= s.now;
        if s.processes.iter().any(over) {
            self.saw(s, Event::PausedPastDeadline);
        }
    }

    /// Judges a state that was just reached and brings it into its normal form.
    pub(crate) fn judge(&self, s: &mut State) {
        let believers = s.processes.iter().filter(|p| p.believes(s.now)).count();
        let broken = &mut s.watch.broken;
        let mut check = |holds: bool, promise: Promise| *broken |= if holds { 0 } else { promise.bit() };
        check(believers <= 1, Promise::Exclusion);
        check(s.watch.stray <= self.bounds.stray, Promise::Release);
        check(s.watch.idle <= self.bounds.idle, Promise::Wake);
        check(s.watch.dark <= self.bounds.dark, Promise::Dead);
        if s.watch.deleted {
            *broken &= !(Promise::Exclusion.bit() | Promise::Dead.bit());
        }
        if s.watch.restored {
            *broken &= Promise::Tokens.bit();
        }
        self.forget_old_numbers(s);
        s.requests.sort_by_key(|r| (r.process, r.conn));
        s.replies.sort_unstable();
        s.messages.sort_unstable();
    }
}

impl Protocol {
    /// Numbers below the clock's floor decide nothing any more: states that differ only there are one.
    fn forget_old_numbers(&self, s: &mut State) {
        let bounds = &self.bounds;
        let clock_may_fail = bounds.allows(Fault::Restore) || bounds.allows(Fault::StepBack);
        if clock_may_fail || bounds.turns > 1 || !self.rules.on(Rule::TokenFloor) {
            return;
        }
        let floor = self.floor(s) - 1;
        let numbers = [&mut s.watch.highest, &mut s.server.last_token, &mut s.server.last_ticket];
        numbers.into_iter().for_each(|number| *number = floor.max(*number));
        s.server.hold.iter_mut().for_each(|hold| hold.token = 0);
        s.messages.iter_mut().for_each(|message| message.token = 0);
    }
}

impl crate::state::Watch {
    pub(crate) fn forgive(&mut self) {
        (self.idle, self.dark, self.stray) = (0, 0, 0);
    }
}

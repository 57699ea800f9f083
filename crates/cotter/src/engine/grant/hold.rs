//! One grant as this process sees it.

use crate::backend::{Grant, Session};
use crate::engine::core::Core;
use crate::engine::grant::guards::Guards;
use crate::engine::line::state::Holding;
use crate::engine::line::{lines, waiter};
use crate::engine::timing::{CONFIRM_AFTER, RENEWAL_SHARE, TURN_SLICE};
use crate::sync::{Ranked, rank};
use crate::{Clock, Lease, LossCause, Moment, Name};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The line of a name.
pub(crate) type Line = lines::Line<Hold>;

/// The lines of all names of a client.
pub(crate) type Lines = lines::Lines<Hold>;

/// A task that waits for a hold.
pub(crate) type Waiter = waiter::Waiter<<Hold as Holding>::Guard>;

/// A grant and the guards that live on it: one after the other (local turns), or several at once (re-entry).
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) core: Arc<Core>,
    pub(crate) line: Arc<Line>,
    pub(crate) grant: Grant,
    pub(crate) lease: Lease,
    /// The moment after which no local successor is served.
    pub(crate) slice_end: Moment,
    deadline: AtomicU64,
    /// The longest lease that was asked for, in seconds. An extension without an answer may have been carried out: the lock is then
    /// kept for longer than its holder may rely on.
    longest: AtomicU32,
    /// The end of `max_hold`, or of a fixed lease that the store does not expire itself.
    ends: AtomicU64,
    pub(crate) renew_at: AtomicU64,
    /// The hold's due time on the agenda, guarded by the agenda's own lock; zero when it is not on it.
    pub(crate) due: AtomicU64,
    /// The index among the holds with the same due time.
    pub(crate) seat: AtomicU32,
    pub(super) guards: Ranked<Guards, { rank::GUARDS }>,
}

impl Hold {
    pub(crate) fn new(core: &Arc<Core>, line: &Arc<Line>, mut grant: Grant, lease: Lease) -> Arc<Self> {
        let now = core.now();
        grant.ttl = believed(grant.ttl, grant.claim.ttl);
        let deadline = deadline(core, grant.as_of, grant.ttl);
        let mut ends = lease.max_hold.map_or(Moment::NEVER, |d| now + d);
        if !lease.renewed && grant.ttl.is_none() {
            ends = ends.min(now + lease.ttl);
        }
        let mut renew_at = renew_at(grant.as_of, &lease, grant.ttl);
        if lease.renewed && grant.ttl.is_some_and(|ttl| ttl < lease.ttl) {
            renew_at = renew_at.min(now + CONFIRM_AFTER);
        }
        Arc::new(Self {
            core: core.clone(),
            line: line.clone(),
            lease,
            slice_end: now + TURN_SLICE,
            deadline: AtomicU64::new(deadline.as_nanos()),
            longest: AtomicU32::new(seconds(grant.claim.ttl.max(lease.ttl))),
            ends: AtomicU64::new(ends.as_nanos()),
            renew_at: AtomicU64::new(renew_at.as_nanos()),
            due: AtomicU64::new(0),
            seat: AtomicU32::new(0),
            guards: Ranked::default(),
            grant,
        })
    }

    /// Starts renewal and loss detection. Must be called after the first guard exists, or a loss would notify nobody.
    pub(crate) fn activate(self: &Arc<Self>) {
        self.core.engine.agenda().insert(self, self.begun());
        if let Some(session) = &self.grant.session {
            let member: Weak<Self> = Arc::downgrade(self);
            session.join(member);
        }
        if self.core.background.is_ended() {
            self.lose(LossCause::Closed);
        }
    }

    /// Returns when the grant became a hold.
    pub(super) fn begun(&self) -> Moment {
        self.slice_end - TURN_SLICE
    }

    pub(crate) fn name(&self) -> &Name {
        &self.grant.claim.name
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        self.core.clock()
    }

    /// Returns the moment after which this hold is no longer valid; `None` if it lives as long as the process or
    /// session.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        let end = self.deadline.load(Ordering::Acquire).min(self.ends.load(Ordering::Acquire));
        let end = Moment::from_nanos(end).min(self.session_end().unwrap_or(Moment::NEVER));
        (end != Moment::NEVER).then_some(end)
    }

    /// Returns the end of the session that the hold lives with, unless a new proof extends it.
    fn session_end(&self) -> Option<Moment> {
        let (as_of, lasts) = self.grant.session.as_ref()?.proof()?;
        Some(deadline(&self.core, as_of, Some(lasts)))
    }

    /// Returns when to warn of the deadline that comes `margin` later, together with that deadline. No warning is due
    /// while a timely renewal can still move the deadline: a lease granted only briefly, until its first renewal, is
    /// shorter than many margins.
    pub(crate) fn warn_at(&self, margin: Duration) -> Option<(Moment, Moment)> {
        let deadline = self.deadline()?;
        let proof = self.grant.session.as_ref().and_then(Session::proof);
        if let Some((as_of, lasts)) = proof.filter(|_| self.session_end() == Some(deadline)) {
            // The next proof is due after a third of the time: a single missing proof is no reason to warn.
            return Some(((deadline - margin).max(as_of + lasts * 2 / RENEWAL_SHARE), deadline));
        }
        let renewal = Moment::from_nanos(self.renew_at.load(Ordering::Acquire));
        let at = deadline - margin;
        let is_moved = renewal < deadline && deadline.as_nanos() < self.ends.load(Ordering::Acquire);
        Some((if is_moved { at.max(renewal + deadline.since(renewal) / 2) } else { at }, deadline))
    }

    /// The same, but only looks: nobody is told of a loss that is found here.
    pub(crate) fn loss(&self) -> Option<LossCause> {
        // First: another thread may have had the lock of the guards when the process was forked.
        if self.core.engine.is_forked() {
            return Some(LossCause::Forked);
        }
        if let Some(cause) = self.lock().lost {
            return Some(cause);
        }
        self.overdue(self.core.now())
    }

    /// Returns why the hold has expired at `now` by its own clock, if it has.
    pub(crate) fn overdue(&self, now: Moment) -> Option<LossCause> {
        if now.as_nanos() >= self.ends.load(Ordering::Acquire) {
            let by_client = self.lease.max_hold.is_some() && self.lease.renewed;
            return Some(if by_client { LossCause::MaxHold } else { LossCause::Expired });
        }
        if self.session_end().is_some_and(|end| now >= end) {
            return Some(LossCause::SessionLost);
        }
        (now.as_nanos() >= self.deadline.load(Ordering::Acquire)).then_some(LossCause::Expired)
    }

    /// An extension by this much is about to be sent.
    pub(crate) fn asks_for(&self, ttl: Duration) {
        self.longest.fetch_max(seconds(ttl), Ordering::AcqRel);
    }

    /// The moment by which the lease has expired in the store, whatever it has carried out without an answer. `known`: the deadline
    /// of its holder.
    pub(crate) fn kept_until(&self, known: Moment) -> Moment {
        let longest = Duration::from_secs(self.longest.load(Ordering::Acquire).into());
        // What lives with a session has no lease that could be longer than that.
        if self.grant.ttl.is_some() { known.max(self.core.now() + longest) } else { known }
    }

    /// Applies the answer to an extension by `asked`. Never shortens; ignored once the last guard is gone.
    pub(crate) fn extended(&self, as_of: Moment, ttl: Option<Duration>, asked: Duration) {
        let guards = self.lock();
        if guards.count == 0 || guards.lost.is_some() {
            return;
        }
        let ttl = believed(ttl, asked);
        self.deadline.fetch_max(deadline(&self.core, as_of, ttl).as_nanos(), Ordering::AcqRel);
        // What lives with a session is as old as its last proof, which may be more than a third of the lease ago.
        let checked = if ttl.is_some() { as_of } else { self.core.now() };
        let next = renew_at(checked, &self.lease, ttl);
        self.renew_at.fetch_max(next.as_nanos(), Ordering::AcqRel);
    }

    /// Moves the end of a fixed hold that the client enforces.
    pub(crate) fn prolong(&self, ttl: Duration) {
        if !self.lease.renewed && self.grant.ttl.is_none() {
            let longest = self.lease.max_hold.map_or(Moment::NEVER, |d| self.grant.as_of + d);
            let end = (self.core.now() + ttl).min(longest);
            self.ends.fetch_max(end.as_nanos(), Ordering::AcqRel);
        }
    }

    /// Lifts the end of a hold that the client enforces.
    pub(crate) fn lift_end(&self) {
        self.ends.store(Moment::NEVER.as_nanos(), Ordering::Release);
    }

    /// Ends when the hold does that it continues. Its lease goes on, which may have been extended by more than was asked for at
    /// first: that much of what the store has answered now is believed.
    pub(crate) fn goes_on_from(&self, before: &Self, answered: Option<Duration>) {
        self.take_turn_of(before);
        self.longest.fetch_max(before.longest.load(Ordering::Acquire), Ordering::AcqRel);
        self.ends.store(before.ends.load(Ordering::Acquire), Ordering::Release);
        let answered = deadline(&self.core, self.grant.as_of, answered);
        let known = before.deadline.load(Ordering::Acquire).min(answered.as_nanos());
        self.deadline.fetch_max(known, Ordering::AcqRel);
    }

    /// Returns true if at least half of the lease is left, so that a local successor gets a useful share. A session is
    /// kept alive for all its grants, so it has no half.
    pub(crate) fn half_left(&self, now: Moment) -> bool {
        let whole = self.grant.ttl.unwrap_or(self.lease.ttl).min(self.lease.ttl);
        let end = self.deadline.load(Ordering::Acquire).min(self.ends.load(Ordering::Acquire));
        let by_lease = end == Moment::NEVER.as_nanos() || Moment::from_nanos(end).since(now) >= whole / 2;
        by_lease && self.session_end().is_none_or(|end| now < end)
    }
}

/// Whole seconds that are no less than this time: in a hold, of which there are many, every byte counts.
fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX).saturating_add(1)
}

/// What is believed of a time that the store has answered: no more than it was asked for. A server whose clock was set back
/// answers the size of that step as well, and takes it back with the next one.
pub(crate) fn believed(answered: Option<Duration>, asked: Duration) -> Option<Duration> {
    answered.map(|ttl| ttl.min(asked))
}

fn deadline(core: &Core, as_of: Moment, ttl: Option<Duration>) -> Moment {
    match ttl {
        Some(ttl) => as_of + ttl.saturating_sub(core.settings.drift.of(ttl)),
        None => Moment::NEVER,
    }
}

/// Returns when to renew next: a third of the ttl later. Grants that live with their process are checked as often,
/// renewed or not.
fn renew_at(as_of: Moment, lease: &Lease, ttl: Option<Duration>) -> Moment {
    match ttl {
        Some(ttl) if lease.renewed => as_of + ttl / RENEWAL_SHARE,
        Some(_) => Moment::NEVER,
        None => as_of + lease.ttl / RENEWAL_SHARE,
    }
}

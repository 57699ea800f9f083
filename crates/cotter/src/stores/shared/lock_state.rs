//! The lock on one name, with its holders, its queue and its tokens: for stores that keep it as a value and replace it in one
//! step.

use crate::backend::{Claim, ClaimId, Leave, Mode, Release, tokens};
use crate::{LossCause, Moment, Result};
use std::collections::VecDeque;
use std::time::Duration;

/// The time for which a counter of a quorum outlives the instant that its value names.
const COUNTER_LASTS: Duration = Duration::from_secs(86_400);

/// The store's current time: on its clock, and in microseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) at: Moment,
    pub(crate) micros: u64,
}

/// A claim in the queue, as a store keeps it.
pub(crate) trait Waiter: Clone {
    /// True: whoever frees the lock grants it to the first waiters. False: it may turn out that nobody is there any more, so
    /// each of them takes the lock when it asks.
    const IS_SERVED: bool;

    /// Lets it look again.
    fn wake(&self);

    /// Ends its place no later than if it had asked just now: an end beyond that is one of a clock that was set back.
    fn settle(&mut self, now: Moment) {
        let _ = now;
    }

    /// False for one that is not there any more, or does not ask: it blocks nobody. Asked about the first in line only.
    fn is_listening(&self, now: Moment) -> bool;
}

/// The lock on one name.
#[derive(Debug, Clone)]
pub(crate) struct Lock<W> {
    /// The largest token that was reserved.
    pub(crate) last: u64,
    pub(crate) holders: Vec<Held>,
    pub(crate) queue: VecDeque<Queued<W>>,
    /// It is granted by a quorum: the counter must last, because it does not begin at the clock at every grant.
    is_member: bool,
    /// The claims that were evicted at once, for as long as their leases would have lasted, so that their holders learn
    /// the cause.
    pub(crate) evicted: Vec<(ClaimId, Moment)>,
}

impl<W> Default for Lock<W> {
    fn default() -> Self {
        let (holders, queue, evicted) = (Vec::new(), VecDeque::new(), Vec::new());
        Self { last: 0, holders, queue, is_member: false, evicted }
    }
}

/// A grant as the store keeps it.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    /// Its ttl is the longest time that was asked for since it was granted.
    pub(crate) claim: Claim,
    pub(crate) number: u64,
    pub(crate) turns: u16,
    pub(crate) ends: Moment,
    pub(crate) since: Moment,
    /// Its renewals are refused; the lock passes on when its lease ends.
    pub(crate) evicted: bool,
}

impl Held {
    /// The last token of its block.
    fn last(&self) -> u64 {
        self.number + u64::from(self.turns) - 1
    }
}

/// A claim that waits.
#[derive(Debug, Clone)]
pub(crate) struct Queued<W> {
    pub(crate) claim: Claim,
    pub(crate) waiter: W,
}

impl<W: Waiter> Lock<W> {
    /// Drops the holders whose leases have ended and the first waiters if they are gone, and grants the lock to the waiters that it
    /// admits now, if others do that for them.
    pub(crate) fn advance(&mut self, now: Now) {
        for held in &mut self.holders {
            // A lease that lasts longer than was ever asked for is one of a clock that was set back: it counts from now.
            held.ends = held.ends.min(now.at + held.claim.ttl);
        }
        self.holders.retain(|h| h.ends > now.at);
        self.queue.iter_mut().for_each(|q| q.waiter.settle(now.at));
        self.evicted.retain(|(_, ends)| *ends > now.at);
        while self.queue.front().is_some_and(|head| !head.waiter.is_listening(now.at)) {
            self.queue.pop_front();
        }
        while W::IS_SERVED && self.queue.front().is_some_and(|head| self.admits(head.claim.mode)) {
            let Queued { claim, waiter } = self.queue.pop_front().expect("there is a first one");
            self.grant(0, &claim, now);
            waiter.wake();
        }
    }

    /// Returns the grant of this claim, or a new one if the name is free and nobody waits before it from whom it would take something.
    pub(crate) fn take(&mut self, claim: &Claim, now: Now) -> Result<Option<Held>> {
        self.take_from(0, claim, now)
    }

    /// The same for a member of a quorum, where the clock counts only if the counter is new.
    pub(crate) fn take_at_least(&mut self, at_least: u64, claim: &Claim, now: Now) -> Result<Option<Held>> {
        self.is_member = true;
        let taken = self.take_from(at_least, claim, now)?;
        Ok(taken.map(|held| self.raise(held.claim.id, at_least).unwrap_or(held)))
    }

    /// Raises the first token of what a claim holds to this number, and the counter with it. Those who share the name with it may
    /// have that number, or have had it: then it gets the next one that nobody has had.
    pub(crate) fn raise(&mut self, id: ClaimId, at_least: u64) -> Option<Held> {
        let last = self.last;
        let held = self.held_mut(id).filter(|held| !held.evicted)?;
        if held.number >= at_least {
            return Some(held.clone());
        }
        held.number = if held.last() == last { at_least } else { at_least.max(last + 1) };
        let held = held.clone();
        self.last = held.last();
        Some(held)
    }

    fn take_from(&mut self, at_least: u64, claim: &Claim, now: Now) -> Result<Option<Held>> {
        if let Some(held) = self.held(claim.id) {
            return Ok(Some(held.clone()));
        }
        // The limit of one that waits may have been changed.
        let place = self.queue.iter().position(|q| q.claim.id == claim.id);
        let queued = place.map(|at| self.queue[at].claim.clone());
        if queued.is_none() {
            self.check_use(claim.mode)?;
        }
        let claim = queued.as_ref().unwrap_or(claim);
        if !self.is_next(place, claim.mode) || !self.admits(claim.mode) {
            return Ok(None);
        }
        if let Some(at) = place {
            self.queue.remove(at);
        }
        Ok(Some(self.grant(at_least, claim, now)))
    }

    /// Like `take`, but joins the queue if the lock is busy, or stays in it.
    pub(crate) fn take_or_queue(&mut self, claim: &Claim, waiter: &W, now: Now) -> Result<Option<Held>> {
        let taken = self.take(claim, now)?;
        if taken.is_none() {
            let waiter = waiter.clone();
            match self.queue.iter_mut().find(|q| q.claim.id == claim.id) {
                Some(queued) => queued.waiter = waiter,
                None => self.queue.push_back(Queued { claim: claim.clone(), waiter }),
            }
        }
        Ok(taken)
    }

    /// Whether nobody in the queue comes before the one at this place, or before a newcomer. Readers do not take anything from each
    /// other: whichever of those at the front asks first is the next one.
    fn is_next(&self, place: Option<usize>, mode: Mode) -> bool {
        let mut before = self.queue.iter().take(place.unwrap_or(self.queue.len()));
        before.all(|queued| (queued.claim.mode, mode) == (Mode::Shared, Mode::Shared))
    }

    fn grant(&mut self, at_least: u64, claim: &Claim, now: Now) -> Held {
        let (number, turns) = match self.is_member {
            true => tokens::reserve_next(self.last, now.micros, at_least, claim.turns),
            false => tokens::reserve(self.last, now.micros, claim.turns),
        };
        self.last = number + u64::from(turns) - 1;
        let (ends, since) = (now.at + claim.ttl, now.at);
        let held = Held { claim: claim.clone(), number, turns, ends, since, evicted: false };
        if self.holders.is_empty() {
            // Most locks have one holder, and a vector that grows by itself makes room for four.
            self.holders.reserve_exact(1);
        }
        self.holders.push(held.clone());
        held
    }

    fn admits(&self, mode: Mode) -> bool {
        match mode {
            Mode::Exclusive => self.holders.is_empty(),
            Mode::Shared => self.holders.iter().all(|h| h.claim.mode == Mode::Shared),
            Mode::Permits { take, of } => take <= of.saturating_sub(self.permits_taken()),
        }
    }

    fn permits_taken(&self) -> u32 {
        self.holders.iter().map(|h| permits(h.claim.mode)).sum()
    }

    /// While a name is in use, it is either a lock or a semaphore of one size.
    fn check_use(&self, mode: Mode) -> Result<()> {
        let others = self.holders.iter().map(|h| h.claim.mode).chain(self.queue.iter().map(|q| q.claim.mode));
        for other in others {
            let fits = match (mode, other) {
                (Mode::Permits { of, .. }, Mode::Permits { of: theirs, .. }) => of == theirs,
                (Mode::Permits { .. }, _) | (_, Mode::Permits { .. }) => false,
                _ => true,
            };
            if !fits {
                return Err(mode.mismatch(other));
            }
        }
        mode.check()
    }

    /// Changes the number of permits for all users of the name.
    pub(crate) fn set_limit(&mut self, of: u32, now: Now) {
        let claims = self.holders.iter_mut().map(|h| &mut h.claim);
        for claim in claims.chain(self.queue.iter_mut().map(|q| &mut q.claim)) {
            if let Mode::Permits { of: limit, .. } = &mut claim.mode {
                *limit = of;
            }
        }
        // Those that can never be served any more would block everybody behind them. They look again, and are refused.
        self.queue.retain(|q| {
            let can_be_served = q.claim.mode.check().is_ok();
            if !can_be_served {
                q.waiter.wake();
            }
            can_be_served
        });
        self.advance(now);
    }

    pub(crate) fn held(&self, id: ClaimId) -> Option<&Held> {
        self.holders.iter().find(|h| h.claim.id == id)
    }

    fn held_mut(&mut self, id: ClaimId) -> Option<&mut Held> {
        self.holders.iter_mut().find(|h| h.claim.id == id)
    }

    /// Returns the time left, at least `ttl`, or the reason why the claim no longer holds anything.
    pub(crate) fn extend(&mut self, id: ClaimId, ttl: Duration, now: Now) -> Result<Duration, LossCause> {
        if self.is_evicted(id) {
            return Err(LossCause::Evicted);
        }
        let held = self.held_mut(id).ok_or(LossCause::Gone)?;
        held.claim.ttl = held.claim.ttl.max(ttl);
        held.ends = held.ends.max(now.at + ttl);
        Ok(held.ends.since(now.at))
    }

    fn is_evicted(&self, id: ClaimId) -> bool {
        self.held(id).map_or_else(|| self.evicted.iter().any(|(evicted, _)| *evicted == id), |h| h.evicted)
    }

    /// Returns true if the claim holds the lock and was not evicted: only then may it write notes.
    pub(crate) fn is_good(&self, id: ClaimId) -> bool {
        self.held(id).is_some() && !self.is_evicted(id)
    }

    pub(crate) fn release(&mut self, id: ClaimId, leave: Leave, now: Now) -> Release {
        let Some(at) = self.holders.iter().position(|h| h.claim.id == id) else {
            return match self.leave_queue(id, now) {
                true => Release::Freed,
                false if self.is_evicted(id) => Release::Evicted,
                false => Release::NotHeld,
            };
        };
        let mut held = self.holders.swap_remove(at);
        if self.last == held.last() {
            self.last = held.number + u64::from(leave.used.min(held.turns)) - 1;
        }
        if let Some(rest) = leave.keep_for {
            // The new id is unknown to every client, so the rest of the lease cannot be extended or released.
            held.claim.id = ClaimId::random();
            (held.claim.ttl, held.ends) = (rest, now.at + rest);
            self.holders.push(held);
        }
        self.advance(now);
        Release::Freed
    }

    /// Makes the lock differ from all that was read of it before, so that a step that was worked out earlier and arrives late
    /// replaces nothing.
    #[cfg(feature = "mysql")]
    pub(crate) fn fence(&mut self, now: Now) {
        self.last = (self.last + 1).max(now.micros);
    }

    /// Returns whether the claim was queued. The waiters behind it may be served then.
    pub(crate) fn leave_queue(&mut self, id: ClaimId, now: Now) -> bool {
        let queued = self.queue.len();
        self.queue.retain(|q| q.claim.id != id);
        self.advance(now);
        self.queue.len() < queued
    }

    pub(crate) fn downgrade(&mut self, id: ClaimId, now: Now) -> Option<Held> {
        let held = self.held_mut(id)?;
        held.claim.mode = Mode::Shared;
        // The number of turns used is not known here, so none of them is taken back.
        (held.number, held.turns) = (held.number + u64::from(held.turns) - 1, 1);
        let held = held.clone();
        self.advance(now);
        Some(held)
    }

    /// Passes what a claim holds to another one.
    pub(crate) fn adopt(&mut self, from: ClaimId, to: &Claim, now: Now) -> Option<Held> {
        if let Some(held) = self.held(to.id) {
            return Some(held.clone());
        }
        let held = self.held_mut(from).filter(|held| !held.evicted && held.ends > now.at)?;
        held.claim.id = to.id;
        held.claim.label = to.label.clone();
        (held.number, held.turns) = (held.number + u64::from(held.turns) - 1, 1);
        Some(held.clone())
    }

    /// Evicts the holder with this token, or all holders. Returns the token of the first of them.
    pub(crate) fn evict(&mut self, token: Option<u64>, at_once: bool, now: Now) -> Option<u64> {
        let fits = |h: &Held| token.is_none_or(|t| h.number <= t && t < h.number + u64::from(h.turns));
        let number = self.holders.iter().filter(|h| fits(h)).map(|h| h.number).min()?;
        if at_once {
            let evicted = self.holders.extract_if(.., |h| fits(h));
            self.evicted.extend(evicted.map(|h| (h.claim.id, h.ends)));
            self.advance(now);
        } else {
            self.holders.iter_mut().filter(|h| fits(h)).for_each(|h| h.evicted = true);
        }
        Some(number)
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn last_token(&self) -> u64 {
        self.last
    }

    /// Wakes the first waiter so that it checks again.
    pub(crate) fn wake_first(&self) {
        if let Some(head) = self.queue.front() {
            head.waiter.wake();
        }
    }

    /// Returns the end of the lease that ends first.
    pub(crate) fn next_end(&self) -> Option<Moment> {
        self.holders.iter().map(|h| h.ends).min()
    }

    /// Returns true if the name can be forgotten: it is free and the clock has passed its last token.
    pub(crate) fn is_forgettable(&self, now: Now) -> bool {
        let lasts = if self.is_member { COUNTER_LASTS.as_micros() as u64 } else { 0 };
        self.is_unused() && self.last + lasts < now.micros
    }

    /// Returns true if there is nothing to remember but the last token.
    pub(crate) fn is_unused(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty() && self.evicted.is_empty()
    }
}

fn permits(mode: Mode) -> u32 {
    match mode {
        Mode::Permits { take, .. } => take,
        Mode::Exclusive | Mode::Shared => 0,
    }
}

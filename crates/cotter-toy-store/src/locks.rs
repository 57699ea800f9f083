//! The map of locks: what a server would keep.

use cotter::Name;
use cotter::backend::{Claim, ClaimId, Grant, Leave, tokens};
use cotter::clock::{Clock, Moment};
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

/// All locks, and the claims that wait.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    by_name: HashMap<Name, Lock>,
}

/// One name. It is never removed, because its last token must not be forgotten.
#[derive(Debug, Default)]
struct Lock {
    lease: Option<Lease>,
    last_token: u64,
    /// When each waiting claim last asked.
    waiting: HashMap<ClaimId, Moment>,
}

#[derive(Debug, Clone, Copy)]
struct Lease {
    /// `None` for the rest that a holder left behind.
    claim: Option<ClaimId>,
    number: u64,
    turns: u16,
    ends: Moment,
}

/// A waiter that has not asked for this long is not listening any more, and holds nobody up.
const LISTENING: Duration = Duration::from_millis(200);

impl Locks {
    fn lock(&mut self, claim: &Claim, now: Moment) -> &mut Lock {
        let lock = self.by_name.entry(claim.name.clone()).or_default();
        lock.lease = lock.lease.filter(|lease| now < lease.ends);
        lock
    }

    /// Grants the claim if the lock is free. Asking again for a claim that is held counts nothing: it gets the same grant.
    pub(crate) fn acquire(&mut self, claim: &Claim, now: Moment, clock: &dyn Clock) -> Option<Grant> {
        let lock = self.lock(claim, now);
        if lock.lease.is_none() && !lock.is_awaited_by_others(claim, now) {
            let (number, turns) = tokens::reserve(lock.last_token, unix_micros(clock), claim.turns);
            lock.last_token = number + u64::from(turns) - 1;
            lock.lease = Some(Lease { claim: Some(claim.id), number, turns, ends: now + claim.ttl });
        }
        let lease = lock.lease.filter(|lease| lease.claim == Some(claim.id))?;
        let mut grant = Grant::new(claim.clone(), lease.number, now);
        (grant.turns, grant.ttl) = (lease.turns, Some(lease.ends.since(now)));
        Some(grant)
    }

    /// Never shortens. `None` if the claim does not hold the lock.
    pub(crate) fn extend(&mut self, claim: &Claim, now: Moment, ttl: Duration) -> Option<Duration> {
        let lease = self.lock(claim, now).lease_of(claim)?;
        lease.ends = lease.ends.max(now + ttl);
        Some(lease.ends.since(now))
    }

    /// Ends what the claim holds, and its waiting. False if it held nothing.
    pub(crate) fn release(&mut self, claim: &Claim, now: Moment, leave: Leave) -> bool {
        let lock = self.lock(claim, now);
        lock.waiting.remove(&claim.id);
        let Some(lease) = lock.lease_of(claim) else { return false };
        let used = lease.number + u64::from(leave.used) - 1;
        let rest = leave.keep_for.map(|rest| Lease { claim: None, ends: now + rest, ..*lease });
        lock.last_token = used;
        lock.lease = rest;
        true
    }

    /// Notes that a claim waits, and asks now.
    pub(crate) fn listen(&mut self, claim: &Claim, now: Moment) {
        self.lock(claim, now).waiting.insert(claim.id, now);
    }

    /// Whether a claim still waits: a release ends its waiting.
    pub(crate) fn is_waiting(&mut self, claim: &Claim, now: Moment) -> bool {
        self.lock(claim, now).waiting.contains_key(&claim.id)
    }

    pub(crate) fn stop_waiting(&mut self, claim: &Claim, now: Moment) {
        self.lock(claim, now).waiting.remove(&claim.id);
    }
}

impl Lock {
    fn lease_of(&mut self, claim: &Claim) -> Option<&mut Lease> {
        self.lease.as_mut().filter(|lease| lease.claim == Some(claim.id))
    }

    /// Without a queue waiters race, but a newcomer must not take part: whoever releases and asks again would always win.
    fn is_awaited_by_others(&self, claim: &Claim, now: Moment) -> bool {
        !self.waiting.contains_key(&claim.id)
            && self.waiting.values().any(|seen| now.since(*seen) < LISTENING)
    }
}

/// The floor under every token, so that a counter that is lost repeats none.
fn unix_micros(clock: &dyn Clock) -> u64 {
    let since = clock.wall().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

//! What the two older protocols have in common: they poll, and their numbers are made here.

use super::pace::{Pace, Pauses, Rests};
use crate::backend::poll::{self, Attempt};
use crate::backend::{Claim, ClaimId, Extension, Grant, Release, Until, tokens};
use crate::clock::unix_micros;
use crate::redis::backend::{BATCH, all};
use crate::redis::calls::Calls;
use crate::redis::claims::ByClaim;
use crate::redis::errors::garbled;
use crate::{Clock, Moment, Result};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// A protocol without a queue.
pub(in crate::redis) trait Once: Sync {
    /// One try.
    fn once(&self, claim: &Claim) -> impl Future<Output = Result<Tried>> + Send;

    /// Who has it, without a try: something that tells holders apart. `None` when it is free.
    fn holder(&self, claim: &Claim) -> impl Future<Output = Result<Option<u64>>> + Send;
}

/// What came of a try.
#[derive(Debug, Clone)]
pub(in crate::redis) enum Tried {
    Granted(Grant),
    /// Somebody has it; the number tells holders apart.
    Taken(u64),
}

impl Tried {
    pub(in crate::redis) fn granted(self) -> Option<Grant> {
        match self {
            Self::Granted(grant) => Some(grant),
            Self::Taken(_) => None,
        }
    }
}

/// Tries until it works or the time is over.
pub(in crate::redis) async fn acquire<P: Once>(
    protocol: &P,
    (clock, rests, pauses): (&dyn Clock, &Rests, Pauses),
    claim: &Claim,
    until: Until,
) -> Result<Option<Grant>> {
    let now = clock.now();
    let Some(last) = until.moment() else { return protocol.once(claim).await.map(Tried::granted) };
    let rest = rests.until(&claim.name, &pauses, now).map(|end| end.min(last));
    let pace = Pace::new(pauses, now);
    let mut retry = Retry { protocol, clock, rests, claim, rest, pace, pause: Duration::ZERO };
    // Boxed, or one try would carry the room for it.
    Box::pin(async { poll::until(clock, until, &mut retry).await }).await
}

struct Retry<'a, P> {
    protocol: &'a P,
    clock: &'a dyn Clock,
    rests: &'a Rests,
    claim: &'a Claim,
    /// Until then the lock is left to others, unless one of them has had it.
    rest: Option<Moment>,
    pace: Pace,
    pause: Duration,
}

impl<P: Once> Retry<'_, P> {
    /// Whether somebody has it whom to leave it to; while that is open, nobody.
    async fn rests(&mut self) -> Result<bool> {
        let now = self.clock.now();
        if self.rest.is_none_or(|end| now >= end) {
            return Ok(false);
        }
        match self.protocol.holder(self.claim).await? {
            Some(holder) => self.meet(holder),
            None => self.pause = self.pace.after_meeting(NOBODY, now),
        }
        Ok(true)
    }

    fn meet(&mut self, holder: u64) {
        let now = self.clock.now();
        self.rest = None;
        self.rests.met(&self.claim.name, now);
        self.pause = self.pace.after_meeting(holder, now);
    }
}

/// No holder has this number.
const NOBODY: u64 = 0;

impl<P: Once> Attempt for Retry<'_, P> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        if self.rests().await? {
            return Ok(None);
        }
        match self.protocol.once(self.claim).await? {
            Tried::Granted(grant) => {
                self.rests.got(&self.claim.name, self.clock.now());
                Ok(Some(grant))
            }
            Tried::Taken(holder) => {
                self.meet(holder);
                Ok(None)
            }
        }
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::pending())
    }

    fn period(&self) -> Duration {
        let now = self.clock.now();
        self.rest.map_or(self.pause, |end| self.pause.min(end.since(now)))
    }
}

/// Extends many grants, several with each script.
pub(in crate::redis) async fn extend<'a, F>(
    grants: &'a [&'a Grant],
    some: impl Fn(&'a [&'a Grant]) -> F,
) -> Vec<Result<Extension>>
where
    F: Future<Output = Result<Vec<Result<Extension>>>>,
{
    let answers = all(grants.chunks(BATCH).map(async |chunk| match some(chunk).await {
        Ok(answers) if answers.len() == chunk.len() => answers.into_iter().zip(chunk).map(named).collect(),
        Ok(_) => vec![Err(garbled("too few extensions")); chunk.len()],
        Err(e) => chunk.iter().map(|grant| Err(e.clone().with_name(&grant.claim.name))).collect(),
    }));
    answers.await.into_iter().flatten().collect()
}

fn named((answer, grant): (Result<Extension>, &&Grant)) -> Result<Extension> {
    answer.map_err(|e| e.with_name(&grant.claim.name))
}

/// The numbers that were given, and the values under which claims hold.
///
/// The store keeps no counter, so a number is the largest of the last one of this store object and the clock: it orders
/// the grants of this process, and those of others as well as the clocks agree.
#[derive(Debug, Default)]
pub(in crate::redis) struct Sold {
    last: AtomicU64,
    /// By the last bits of the claim id: tasks on several threads are not in each other's way.
    claims: [Mutex<ByClaim<Sale>>; 16],
    pub(in crate::redis) rests: Rests,
    /// Of claims whose value may be another's too.
    pub(in crate::redis) calls: Calls,
}

/// What a claim has, or may have.
#[derive(Debug, Clone)]
pub(in crate::redis) struct Sale {
    /// The expiries that it has written, in `getset`: the last that is known to have arrived, and those sent since.
    pub(in crate::redis) values: Vec<String>,
    /// First number and turns; none as long as nobody knows whether it was granted.
    pub(in crate::redis) block: Option<(u64, u16)>,
    /// By then the store has let it go by itself.
    pub(in crate::redis) until: Moment,
}

impl Sold {
    /// Reserves a block of numbers.
    pub(in crate::redis) fn reserve(&self, turns: u16, wall: SystemTime) -> (u64, u16) {
        let now = unix_micros(wall);
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let (number, turns) = tokens::reserve(last, now, turns);
            let next = number + u64::from(turns) - 1;
            match self.last.compare_exchange_weak(last, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return (number, turns),
                Err(other) => last = other,
            }
        }
    }

    pub(in crate::redis) fn get(&self, id: ClaimId) -> Option<Sale> {
        self.claims(id).get(&id).cloned()
    }

    /// Changes what is known of a claim.
    pub(in crate::redis) fn change(&self, id: ClaimId, change: impl FnOnce(&mut Sale)) {
        if let Some(sale) = self.claims(id).get_mut(&id) {
            change(sale);
        }
    }

    /// Nobody knows whether it was granted: no answer has come.
    pub(in crate::redis) fn doubt(&self, id: ClaimId, until: Moment, now: Moment) {
        let mut claims = self.claims(id);
        claims.retain(|_, sale| sale.block.is_some() || sale.until > now);
        claims.entry(id).or_insert(Sale { values: Vec::new(), block: None, until });
    }

    /// What the release of a claim has to answer without touching the store, because the value there may be another's
    /// too. `None`: it was granted.
    pub(in crate::redis) fn untouched(&self, id: ClaimId, now: Moment) -> Option<Release> {
        match self.get(id) {
            Some(Sale { block: Some(_), .. }) => None,
            // It runs out by itself, if it was granted at all.
            Some(Sale { until, .. }) if now < until => Some(Release::Unsettled { until }),
            _ => {
                self.forget(id);
                Some(Release::NotHeld)
            }
        }
    }

    pub(in crate::redis) fn set(&self, id: ClaimId, sale: Sale) {
        self.claims(id).insert(id, sale);
    }

    pub(in crate::redis) fn forget(&self, id: ClaimId) {
        self.claims(id).remove(&id);
    }

    fn claims(&self, id: ClaimId) -> MutexGuard<'_, ByClaim<Sale>> {
        lock(&self.claims[(id.bits() >> 64) as usize % self.claims.len()])
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number, a block and a time as a grant.
pub(in crate::redis) fn grant(
    claim: &Claim,
    (number, turns): (u64, u16),
    as_of: Moment,
    ttl: Duration,
) -> Grant {
    Grant { turns, ttl: Some(ttl), ..Grant::new(claim.clone(), number, as_of) }
}

/// Whole milliseconds, never fewer than asked for.
pub(in crate::redis) fn millis(d: Duration) -> u64 {
    u64::try_from(d.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX).max(1)
}

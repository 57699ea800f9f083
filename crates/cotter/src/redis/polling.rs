//! What the two older protocols have in common: they poll, and their numbers are made here.

use super::claims::ByClaim;
use crate::backend::{Claim, ClaimId, Grant, Until};
use crate::clock::unix_micros;
use crate::poll::{self, Attempt};
use crate::{Clock, Name, Result};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// One try of a protocol without a queue.
pub(super) trait Once: Sync {
    fn once(&self, claim: &Claim) -> impl Future<Output = Result<Option<Grant>>> + Send;
}

/// Tries until it works or the time is over.
pub(super) async fn acquire<P: Once>(
    protocol: &P,
    clock: &dyn Clock,
    retry: Duration,
    claim: &Claim,
    until: Until,
) -> Result<Option<Grant>> {
    if until == Until::Now {
        return protocol.once(claim).await;
    }
    // Boxed, or one try would carry the room for it.
    Box::pin(async { poll::until(clock, until, &mut Retry { protocol, claim, retry }).await }).await
}

struct Retry<'a, P> {
    protocol: &'a P,
    claim: &'a Claim,
    retry: Duration,
}

impl<P: Once> Attempt for Retry<'_, P> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        self.protocol.once(self.claim).await
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::pending())
    }

    fn period(&self) -> Duration {
        self.retry
    }
}

/// The numbers that were given, and the values under which claims hold.
///
/// The store keeps no counter, so a number is the largest of the last one of this store object and the clock: it orders
/// the grants of this process, and those of others as well as the clocks agree.
#[derive(Debug, Default)]
pub(super) struct Sold {
    last: Mutex<u64>,
    claims: Mutex<ByClaim<Sale>>,
}

/// What a claim has, or has asked for.
#[derive(Debug, Clone)]
pub(super) struct Sale {
    pub(super) name: Name,
    pub(super) value: String,
    /// First number and turns, once it was granted.
    pub(super) block: Option<(u64, u16)>,
}

impl Sold {
    /// A block of numbers, of at most as many turns as microseconds have passed.
    pub(super) fn reserve(&self, turns: u16, wall: SystemTime) -> (u64, u16) {
        let now = unix_micros(wall);
        let mut last = lock(&self.last);
        let room = u16::try_from(now.saturating_sub(*last).max(1)).unwrap_or(u16::MAX);
        let (number, turns) = (now.max(*last + 1), turns.max(1).min(room));
        *last = number + u64::from(turns) - 1;
        (number, turns)
    }

    pub(super) fn get(&self, id: ClaimId) -> Option<Sale> {
        lock(&self.claims).get(&id).cloned()
    }

    /// Whether another claim on the same name holds under the same value: two expiries may fall into one millisecond.
    pub(super) fn is_held_by_another(&self, id: ClaimId, sale: &Sale) -> bool {
        let same =
            |other: &Sale| other.block.is_some() && other.name == sale.name && other.value == sale.value;
        lock(&self.claims).iter().any(|(other, s)| *other != id && same(s))
    }

    pub(super) fn set(&self, id: ClaimId, sale: Sale) {
        lock(&self.claims).insert(id, sale);
    }

    pub(super) fn forget(&self, id: ClaimId) {
        lock(&self.claims).remove(&id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number, a block and a time as a grant.
pub(super) fn grant(
    claim: &Claim,
    (number, turns): (u64, u16),
    as_of: crate::Moment,
    ttl: Duration,
) -> Grant {
    Grant { claim: claim.clone(), number, turns, as_of, ttl: Some(ttl), session: None, votes: None }
}

/// Whole milliseconds, never fewer than asked for.
pub(super) fn millis(d: Duration) -> u64 {
    u64::try_from(d.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX).max(1)
}

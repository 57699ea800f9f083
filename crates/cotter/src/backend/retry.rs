//! Waiting for a lock in a store without a queue.

use super::pace::{Pace, Pauses, Rests};
use super::poll::{self, Attempt};
use super::{Claim, Grant, Until};
use crate::{Clock, Moment, Result};
use std::time::Duration;

/// A store that can only be asked.
pub(crate) trait Contend: Send + Sync {
    fn clock(&self) -> &dyn Clock;

    /// The names for which tasks of this process have waited lately.
    fn rests(&self) -> &Rests;

    /// Tries to acquire the lock once.
    fn try_once(&self, claim: &Claim) -> impl Future<Output = Result<Tried>> + Send;

    /// A number that identifies the holder, without an attempt to acquire the lock; `None` if the lock is free.
    fn holder(&self, claim: &Claim) -> impl Future<Output = Result<Option<u64>>> + Send;
}

/// The result of an attempt to acquire a lock.
#[derive(Debug, Clone)]
pub(crate) enum Tried {
    Granted(Grant),
    /// Held by another; the number identifies the holder.
    Taken(u64),
}

#[cfg(any(feature = "redis", feature = "mysql"))]
impl Tried {
    pub(crate) fn granted(self) -> Option<Grant> {
        match self {
            Self::Granted(grant) => Some(grant),
            Self::Taken(_) => None,
        }
    }
}

/// Tries until it succeeds or the time is over.
pub(crate) async fn acquire<C: Contend>(
    store: &C,
    pauses: Pauses,
    claim: &Claim,
    until: Until,
) -> Result<Option<Grant>> {
    let (clock, rests) = (store.clock(), store.rests());
    let now = clock.now();
    let last = until.moment().unwrap_or(now);
    let rest = rests.until(&claim.name, &pauses, now).map(|end| end.min(last));
    let pace = Pace::new(pauses, now);
    let mut retry = Retry { store, clock, rests, claim, rest, pace, pause: Duration::ZERO };
    poll::until(clock, until, &mut retry).await
}

struct Retry<'a, C> {
    store: &'a C,
    clock: &'a dyn Clock,
    rests: &'a Rests,
    claim: &'a Claim,
    /// Until then the lock is left to other processes, unless one of them has been seen to hold it.
    rest: Option<Moment>,
    pace: Pace,
    pause: Duration,
}

/// No holder has this number.
const NOBODY: u64 = 0;

impl<C: Contend> Retry<'_, C> {
    /// Whether this process rests. If it does, this only looks for another holder, which ends the rest.
    async fn rests(&mut self) -> Result<bool> {
        let now = self.clock.now();
        if self.rest.is_none_or(|end| now >= end) {
            return Ok(false);
        }
        match self.store.holder(self.claim).await? {
            Some(holder) => self.met(holder),
            None => self.pause = self.pace.after_meeting(NOBODY, now),
        }
        Ok(true)
    }

    /// Another holder was seen.
    fn met(&mut self, holder: u64) {
        let now = self.clock.now();
        self.rest = None;
        self.rests.met(&self.claim.name, now);
        self.pause = self.pace.after_meeting(holder, now);
    }
}

impl<C: Contend> Attempt for Retry<'_, C> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        if self.rests().await? {
            return Ok(None);
        }
        match self.store.try_once(self.claim).await? {
            Tried::Granted(grant) => {
                self.rests.got(&self.claim.name, self.clock.now());
                Ok(Some(grant))
            }
            Tried::Taken(holder) => {
                self.met(holder);
                Ok(None)
            }
        }
    }

    fn period(&self) -> Duration {
        let now = self.clock.now();
        self.rest.map_or(self.pause, |end| self.pause.min(end.since(now)))
    }
}

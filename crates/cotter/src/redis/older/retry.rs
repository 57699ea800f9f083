//! Waiting for a lock without a queue.

use super::backend::{Steps, Tried};
use crate::backend::pace::{Pace, Pauses, Rests};
use crate::backend::poll::{self, Attempt};
use crate::backend::{Claim, Grant, Until};
use crate::{Clock, Moment, Result};
use std::time::Duration;

/// Tries until it succeeds or the time is over.
pub(super) async fn acquire<P: Steps>(
    steps: &P,
    pauses: Pauses,
    claim: &Claim,
    until: Until,
) -> Result<Option<Grant>> {
    let (clock, rests) = (&**steps.link().clock(), &steps.shared().issued.rests);
    let now = clock.now();
    let last = until.moment().unwrap_or(now);
    let rest = rests.until(&claim.name, &pauses, now).map(|end| end.min(last));
    let pace = Pace::new(pauses, now);
    let mut retry = Retry { steps, clock, rests, claim, rest, pace, pause: Duration::ZERO };
    poll::until(clock, until, &mut retry).await
}

struct Retry<'a, P> {
    steps: &'a P,
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

impl<P: Steps> Retry<'_, P> {
    /// Whether this process rests. If it does, this only looks for another holder, which ends the rest.
    async fn rests(&mut self) -> Result<bool> {
        let now = self.clock.now();
        if self.rest.is_none_or(|end| now >= end) {
            return Ok(false);
        }
        match self.steps.holder(self.claim).await? {
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

impl<P: Steps> Attempt for Retry<'_, P> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        if self.rests().await? {
            return Ok(None);
        }
        match self.steps.try_once(self.claim).await? {
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

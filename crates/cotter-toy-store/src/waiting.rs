//! Waiting by polling.

use crate::Toy;
use cotter::Result;
use cotter::backend::{Claim, Grant, poll};
use std::time::Duration;

/// An acquisition that is tried until it succeeds, is released, or is dropped.
pub(crate) struct Waiting<'a> {
    toy: &'a Toy,
    claim: &'a Claim,
    is_listed: bool,
}

impl<'a> Waiting<'a> {
    pub(crate) fn new(toy: &'a Toy, claim: &'a Claim) -> Self {
        Self { toy, claim, is_listed: false }
    }
}

impl poll::Attempt for Waiting<'_> {
    /// `None` once the claim was released.
    type Done = Option<Grant>;

    async fn attempt(&mut self) -> Result<Option<Self::Done>> {
        let (claim, clock) = (self.claim, &*self.toy.clock);
        let was_listed = std::mem::replace(&mut self.is_listed, true);
        Ok(self.toy.ask(|locks, now| {
            if was_listed && !locks.is_waiting(claim, now) {
                return Some(None);
            }
            let grant = locks.acquire(claim, now, clock);
            locks.listen(claim, now);
            grant.map(Some)
        }))
    }

    fn period(&self) -> Duration {
        Duration::from_millis(10)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.toy.ask(|locks, now| locks.stop_waiting(self.claim, now));
    }
}

//! The traces of an attempt without a grant in the store: a claim that joined the queue is kept until the engine continues
//! with it, everything else is undone.

use crate::Result;
use crate::backend::{Acquired, Claim};
use crate::engine::core::Core;
use crate::engine::grant::undo::{undo, undo_until};
use crate::engine::queue::acquire::Request;
use crate::engine::queue::line::Line;
use crate::engine::route::Carrier;
use std::fmt;
use std::sync::Arc;

/// A claim in the store's queue. Undone unless a local task takes it up.
pub(crate) struct Joined {
    core: Arc<Core>,
    claim: Option<Claim>,
}

impl Joined {
    pub(crate) fn new(core: &Arc<Core>, claim: Claim) -> Self {
        Self { core: core.clone(), claim: Some(claim) }
    }

    /// Returns the claim, if it serves this waiter's request.
    pub(crate) fn serves(mut self, request: &Request) -> Option<Claim> {
        let fits = |claim: &mut Claim| claim.mode == request.mode && claim.ttl == request.lease.ttl;
        self.claim.take_if(fits)
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        if let Some(claim) = self.claim.take() {
            undo(&self.core, claim, &Carrier::default(), false);
        }
    }
}

/// Takes care of what an attempt may have left in the store.
pub(crate) fn keep_or_undo(
    core: &Arc<Core>,
    line: &Line,
    claim: &Claim,
    carrier: &Carrier,
    answer: &Result<Acquired>,
) {
    match answer {
        Ok(Acquired::Granted(_) | Acquired::Busy) => {}
        Ok(Acquired::Queued) => line.state().joined = Some(Box::new(Joined::new(core, claim.clone()))),
        Ok(Acquired::Unsettled { until }) => undo_until(core, claim.clone(), 0, *until),
        Err(e) if e.outcome_unknown() => undo(core, claim.clone(), carrier, true),
        Err(_) => {}
    }
}

impl fmt::Debug for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joined").field("claim", &self.claim).finish_non_exhaustive()
    }
}

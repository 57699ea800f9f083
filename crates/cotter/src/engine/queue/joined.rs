//! A claim that joined the store's queue with its first request, until the engine continues with it.

use crate::backend::Claim;
use crate::engine::core::Core;
use crate::engine::grant::undo::undo;
use crate::engine::queue::acquire::Request;
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

impl fmt::Debug for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joined").field("claim", &self.claim).finish_non_exhaustive()
    }
}

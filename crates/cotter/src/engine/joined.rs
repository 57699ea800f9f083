//! A claim that got in the store's line with its first question, until the engine goes on with it.

use super::acquire::Want;
use super::core::Core;
use super::place::Carrier;
use super::undo::undo;
use crate::backend::Claim;
use std::fmt;
use std::sync::Arc;

/// Undone when nobody here takes it up.
pub(super) struct Joined {
    core: Arc<Core>,
    claim: Option<Claim>,
}

impl Joined {
    pub(super) fn new(core: &Arc<Core>, claim: Claim) -> Self {
        Self { core: core.clone(), claim: Some(claim) }
    }

    /// The claim, if it is what this waiter wants.
    pub(super) fn serves(mut self, want: &Want) -> Option<Claim> {
        let fits = |claim: &mut Claim| claim.mode == want.mode && claim.ttl == want.lease.ttl;
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

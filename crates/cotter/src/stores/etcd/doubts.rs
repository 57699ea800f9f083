//! The puts that may still be carried out: those that were sent and have no answer that says otherwise.

use crate::backend::ClaimId;
use crate::backend::by_claim::ByClaim;
use crate::sync::lock;
use std::sync::Mutex;

/// The leases of the puts in doubt, by claim.
#[derive(Debug, Default)]
pub(super) struct Doubts(Mutex<ByClaim<Vec<i64>>>);

impl Doubts {
    /// Records that a put is about to be sent.
    pub(super) fn sent(&self, id: ClaimId, lease: i64) {
        lock(&self.0).entry(id).or_default().push(lease);
    }

    /// Records that one put of the claim was answered.
    pub(super) fn answered(&self, id: ClaimId, lease: i64) {
        let mut puts = lock(&self.0);
        if let Some(leases) = puts.get_mut(&id) {
            leases.iter().position(|l| *l == lease).map(|at| leases.swap_remove(at));
            if leases.is_empty() {
                puts.remove(&id);
            }
        }
    }

    /// The lease of a put of the claim that is in doubt.
    pub(super) fn of(&self, id: ClaimId) -> Option<i64> {
        lock(&self.0).get(&id).and_then(|leases| leases.first().copied())
    }

    /// Records that no put of the claim with this lease can be carried out any more.
    pub(super) fn settled(&self, id: ClaimId, lease: i64) {
        let mut puts = lock(&self.0);
        if let Some(leases) = puts.get_mut(&id) {
            leases.retain(|l| *l != lease);
            if leases.is_empty() {
                puts.remove(&id);
            }
        }
    }
}

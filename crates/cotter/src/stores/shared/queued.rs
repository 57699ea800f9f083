//! The places of claims that were put in line and not waited for yet.

use crate::backend::ClaimId;
use crate::backend::by_claim::ByClaim;
use crate::sync::lock;
use std::sync::Mutex;

/// Whoever waits for such a claim begins where the answer to its first request has left it, without another one.
#[derive(Debug)]
pub(crate) struct Queued<P>(Mutex<ByClaim<P>>);

impl<P> Queued<P> {
    pub(crate) fn keep(&self, id: ClaimId, place: P) {
        lock(&self.0).insert(id, place);
    }

    /// Counts once: a claim that is asked for again is looked for.
    pub(crate) fn take(&self, id: ClaimId) -> Option<P> {
        lock(&self.0).remove(&id)
    }

    /// Where the client that ends is the only one.
    #[cfg(feature = "etcd")]
    pub(crate) fn clear(&self) {
        lock(&self.0).clear();
    }
}

impl<P> Default for Queued<P> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

//! The places of claims that were put in line and not waited for yet.

use super::acquire::{Ahead, Entry};
use crate::backend::ClaimId;
use crate::backend::by_claim::ByClaim;
use crate::sync::lock;
use std::sync::Mutex;

/// Whoever waits for such a claim begins where the answer to its put has left it, without another put: a transaction that may put is
/// written by a majority, also when its condition fails. What has happened meanwhile is seen after the watch is confirmed.
#[derive(Debug, Default)]
pub(super) struct Queued(Mutex<ByClaim<(Entry, Ahead)>>);

impl Queued {
    pub(super) fn keep(&self, id: ClaimId, own: Entry, ahead: Ahead) {
        lock(&self.0).insert(id, (own, ahead));
    }

    /// Counts once: a claim that is asked for again is looked for.
    pub(super) fn take(&self, id: ClaimId) -> Option<(Entry, Ahead)> {
        lock(&self.0).remove(&id)
    }

    pub(super) fn clear(&self) {
        lock(&self.0).clear();
    }
}

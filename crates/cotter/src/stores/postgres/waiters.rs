//! The claims of this process that wait.

use crate::backend::ClaimId;
use crate::sync::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// The claims that wait, and what wakes each of them.
#[derive(Debug, Default)]
pub(super) struct Waiters(Mutex<HashMap<ClaimId, Arc<Notify>>>);

impl Waiters {
    /// Registers a claim until the returned value is dropped; call it before the first byte leaves.
    pub(super) fn wait(self: &Arc<Self>, id: ClaimId) -> Registration {
        let woken = lock(&self.0).entry(id).or_default().clone();
        Registration { waiters: self.clone(), id, woken }
    }

    /// Has this waiter ask again.
    pub(super) fn wake(&self, id: ClaimId) {
        if let Some(woken) = lock(&self.0).get(&id) {
            woken.notify_one();
        }
    }

    /// Has every waiter ask again: notifications may have been missed.
    pub(super) fn wake_all(&self) {
        lock(&self.0).values().for_each(|woken| woken.notify_one());
    }

    /// Forgets a claim that is being released.
    pub(super) fn forget(&self, id: ClaimId) {
        lock(&self.0).remove(&id);
    }
}

/// A registered waiter.
#[derive(Debug)]
pub(super) struct Registration {
    waiters: Arc<Waiters>,
    id: ClaimId,
    pub(super) woken: Arc<Notify>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut claims = lock(&self.waiters.0);
        if claims.get(&self.id).is_some_and(|woken| Arc::ptr_eq(woken, &self.woken)) {
            claims.remove(&self.id);
        }
    }
}

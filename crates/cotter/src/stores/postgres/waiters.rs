//! The claims of this process that wait.

use super::acquire::QueuePosition;
use crate::Moment;
use crate::backend::ClaimId;
use crate::backend::by_claim::ByClaim;
use crate::stores::shared::net::OpenChannels;
use crate::sync::lock;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// The claims that wait, and what wakes each of them. All connections of a store share them.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    claims: Mutex<ByClaim<Arc<Waiter>>>,
    pub(super) channels: OpenChannels,
}

/// A claim that waits.
#[derive(Debug, Default)]
pub(super) struct Waiter {
    pub(super) woken: Arc<Notify>,
    /// The answer to the request that joined the queue, until somebody waits on.
    joined: Mutex<Option<Joined>>,
}

/// A place in the queue, as the answer to a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Joined {
    pub(super) place: QueuePosition,
    /// When the request was sent.
    pub(super) sent: Moment,
}

impl Waiters {
    /// Registers a claim until the returned value is dropped, or goes on with one that has [joined](Registration::joined) the
    /// queue; call it before the first byte leaves.
    pub(super) fn wait(self: &Arc<Self>, id: ClaimId) -> Registration {
        let waiter = lock(&self.claims).entry(id).or_default().clone();
        Registration { waiters: self.clone(), id, waiter }
    }

    /// Has this waiter ask again.
    pub(super) fn wake(&self, id: ClaimId) {
        if let Some(waiter) = lock(&self.claims).get(&id) {
            waiter.woken.notify_one();
        }
    }

    /// Has every waiter ask again: notifications may have been missed.
    pub(super) fn wake_all(&self) {
        lock(&self.claims).values().for_each(|waiter| waiter.woken.notify_one());
    }

    /// Forgets a claim that is being released.
    pub(super) fn forget(&self, id: ClaimId) {
        lock(&self.claims).remove(&id);
    }
}

/// A registered waiter. Forgotten when it is dropped, unless its place in the queue waits for somebody to wait on.
#[derive(Debug)]
pub(super) struct Registration {
    waiters: Arc<Waiters>,
    id: ClaimId,
    pub(super) waiter: Arc<Waiter>,
}

impl Registration {
    /// The claim has a place in the queue. The waiting `acquire` that follows goes on from there, or its release.
    pub(super) fn joined(self, joined: Joined) {
        *lock(&self.waiter.joined) = Some(joined);
    }

    /// Takes the place in the queue that an earlier request has got, if one has.
    pub(super) fn take_joined(&self) -> Option<Joined> {
        lock(&self.waiter.joined).take()
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut claims = lock(&self.waiters.claims);
        let is_ours = claims.get(&self.id).is_some_and(|waiter| Arc::ptr_eq(waiter, &self.waiter));
        if is_ours && lock(&self.waiter.joined).is_none() {
            claims.remove(&self.id);
        }
    }
}

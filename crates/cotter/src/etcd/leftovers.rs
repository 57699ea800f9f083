//! Claims whose release was given up, because the cluster did not answer for too long.
//!
//! Their entries do not end with the ttl: they are attached to a lease that other locks of this process keep alive. They are
//! removed as soon as the cluster answers again.

use super::backend::Inner;
use crate::Moment;
use crate::backend::Claim;
use crate::backend::by_claim::ByClaim;
use crate::sync::lock;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Leftovers(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// With the time at which the last attempt to release them ended.
    claims: ByClaim<(Claim, Moment)>,
    is_watched: bool,
}

/// A release that is under way. If it is dropped without an answer, the claim is a leftover.
pub(super) struct Leaving<'a> {
    inner: &'a Arc<Inner>,
    claim: Option<&'a Claim>,
}

/// A claim is left alone for this long after an attempt to release it: the caller repeats it, and would not find the entry.
const QUIET: Duration = Duration::from_secs(3);
const PERIOD: Duration = Duration::from_secs(1);

impl<'a> Leaving<'a> {
    pub(super) fn begin(inner: &'a Arc<Inner>, claim: &'a Claim) -> Self {
        lock(&inner.leftovers.0).claims.remove(&claim.id);
        Self { inner, claim: Some(claim) }
    }

    pub(super) fn answered(mut self) {
        self.claim = None;
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let Some(claim) = self.claim.take() else { return };
        let link = &self.inner.link;
        let mut state = lock(&self.inner.leftovers.0);
        state.claims.insert(claim.id, (claim.clone(), link.now()));
        if !std::mem::replace(&mut state.is_watched, true) {
            let (inner, closed) = (Arc::downgrade(self.inner), link.until_closed());
            link.host().spawn(async move {
                tokio::select! { () = clean(inner) => {} () = closed => {} }
            });
        }
    }
}

impl Leftovers {
    /// The claims that nobody is releasing any more. `None` if there are no leftovers at all: nothing watches them then.
    fn due(&self, now: Moment) -> Option<Vec<Claim>> {
        let mut state = lock(&self.0);
        state.is_watched = !state.claims.is_empty();
        let due = state.claims.values().filter(|(_, since)| now.since(*since) >= QUIET);
        let due = due.map(|(claim, _)| claim.clone()).collect();
        state.is_watched.then_some(due)
    }
}

/// Removes leftovers until there are none.
async fn clean(inner: Weak<Inner>) {
    while let Some(inner) = inner.upgrade() {
        let Some(due) = inner.leftovers.due(inner.link.now()) else { return };
        for claim in due {
            // The cluster is still away: the others would wait for it one by one.
            if inner.remove(&claim).await.is_err() {
                break;
            }
        }
        let pause = inner.link.host().clock().sleep_until(inner.link.now() + PERIOD);
        drop(inner);
        pause.await;
    }
}

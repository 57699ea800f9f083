//! The tokens and values that this process has issued.

use super::backend::Tried;
use crate::Moment;
use crate::backend::by_claim::ByClaim;
use crate::backend::flight::Flights;
use crate::backend::pace::Rests;
use crate::backend::{ClaimId, Release, tokens};
use crate::clock::unix_micros;
use crate::sync::lock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::SystemTime;

/// The client side of the older protocols, shared by all connections of a store.
///
/// The server keeps no counter. A token is the larger of the clock and the last token of this store object plus one: it
/// orders the grants of this process, and those of other processes as far as their clocks agree.
#[derive(Debug, Default)]
pub(in crate::stores::redis) struct Issued {
    last: AtomicU64,
    /// Sharded by bits of the claim id, so that threads seldom contend.
    claims: [Mutex<ByClaim<Holding>>; 16],
    pub(in crate::stores::redis) rests: Rests,
    /// The requests of claims whose value may be another claim's too.
    pub(super) flights: Flights<Tried>,
}

/// A claim that holds a lock, or may hold one.
#[derive(Debug, Clone)]
pub(in crate::stores::redis) struct Holding {
    /// In `getset`: the last expiry that is known to have been written, and those sent since.
    pub(in crate::stores::redis) values: Vec<String>,
    /// The first token and the number of turns; `None` if it is not known whether the claim was granted.
    pub(in crate::stores::redis) block: Option<(u64, u16)>,
    /// The time by which the lease has ended.
    pub(in crate::stores::redis) until: Moment,
}

impl Issued {
    /// Reserves a block of tokens.
    pub(super) fn reserve(&self, turns: u16, wall: SystemTime) -> (u64, u16) {
        let clock = unix_micros(wall);
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let (first, turns) = tokens::reserve(last, clock, turns);
            let next = first + u64::from(turns) - 1;
            match self.last.compare_exchange_weak(last, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return (first, turns),
                Err(other) => last = other,
            }
        }
    }

    pub(in crate::stores::redis) fn get(&self, id: ClaimId) -> Option<Holding> {
        self.claims(id).get(&id).cloned()
    }

    pub(in crate::stores::redis) fn set(&self, id: ClaimId, holding: Holding) {
        self.claims(id).insert(id, holding);
    }

    pub(super) fn change(&self, id: ClaimId, change: impl FnOnce(&mut Holding)) {
        if let Some(holding) = self.claims(id).get_mut(&id) {
            change(holding);
        }
    }

    pub(in crate::stores::redis) fn forget(&self, id: ClaimId) {
        self.claims(id).remove(&id);
    }

    /// Records that nobody knows whether a claim was granted, because no answer has come.
    pub(super) fn set_unknown(&self, id: ClaimId, until: Moment, now: Moment) {
        let mut claims = self.claims(id);
        claims.retain(|_, holding| holding.block.is_some() || holding.until > now);
        claims.entry(id).or_insert(Holding { values: Vec::new(), block: None, until });
    }

    /// Waits for the outcome of a claim whose value may be another claim's too. `None` if the claim was granted;
    /// otherwise its release must not touch the server, and this is the answer.
    pub(super) async fn settle(&self, id: ClaimId, now: impl FnOnce() -> Moment) -> Option<Release> {
        self.flights.land(id).await;
        match self.get(id) {
            Some(Holding { block: Some(_), .. }) => None,
            // If it was granted at all, its lease ends by itself.
            Some(Holding { until, .. }) if now() < until => Some(Release::NotHeld.unsettled(until)),
            _ => {
                self.forget(id);
                Some(Release::NotHeld)
            }
        }
    }

    fn claims(&self, id: ClaimId) -> MutexGuard<'_, ByClaim<Holding>> {
        lock(&self.claims[(id.bits() >> 64) as usize % self.claims.len()])
    }
}

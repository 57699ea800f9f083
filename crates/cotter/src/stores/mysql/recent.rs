//! The last state that this process has written to rows, so that the next step on them need not read them first.
//!
//! A step that is worked out from this replaces what it expects, and nothing else: where others have been there in the meantime
//! it does nothing, and the row is read.

use crate::backend::Claim;
use crate::backend::by_claim::ByClaim;
use crate::stores::shared::lock_state::Held;
use crate::sync::lock;
use crate::{Moment, Name};
use std::collections::HashMap;
use std::sync::Mutex;

/// So many free names are remembered.
const FREE: usize = 4096;
/// The number of claims from which on those whose leases have ended are searched for.
const SWEEP: usize = 1024;

/// The last known rows of names, and of claims.
#[derive(Debug, Default)]
pub(super) struct Recent(Mutex<Rows>);

#[derive(Debug, Default)]
struct Rows {
    /// The last tokens of names that were left free.
    free: HashMap<Name, u64>,
    /// The locks that claims hold alone.
    held: ByClaim<Alone>,
    sweep_at: usize,
}

/// A lock with one holder and an empty queue, without the claim itself.
#[derive(Debug, Clone, Copy)]
struct Alone {
    number: u64,
    turns: u16,
    since: Moment,
    ends: Moment,
}

impl Recent {
    /// The last token of a name that was left free. It is forgotten.
    pub(super) fn take_free(&self, name: &Name) -> Option<u64> {
        lock(&self.0).free.remove(name)
    }

    /// A name was left free.
    pub(super) fn freed(&self, name: &Name, last: u64) {
        let mut rows = lock(&self.0);
        if rows.free.len() >= FREE {
            rows.free.clear();
        }
        rows.free.insert(name.clone(), last);
    }

    /// A claim has got the name alone, and nobody is behind it.
    pub(super) fn held(&self, held: &Held) {
        let mut rows = lock(&self.0);
        if rows.held.len() >= rows.sweep_at.max(SWEEP) {
            // Claims that have passed to others, as tickets do, are never released here.
            rows.held.retain(|_, alone| alone.ends > held.since);
            rows.sweep_at = rows.held.len() * 2;
        }
        let Held { number, turns, since, ends, .. } = *held;
        rows.held.insert(held.claim.id, Alone { number, turns, since, ends });
    }

    /// Removes and returns the lock that a claim held when it was last read.
    pub(super) fn take_held(&self, claim: &Claim) -> Option<Held> {
        let Alone { number, turns, since, ends } = lock(&self.0).held.remove(&claim.id)?;
        Some(Held { claim: claim.clone(), number, turns, since, ends, evicted: false })
    }
}

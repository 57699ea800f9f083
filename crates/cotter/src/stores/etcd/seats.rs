//! The entries of this process that hold a lock.

use super::watches::Watched;
use crate::backend::by_claim::ByClaim;
use crate::backend::{ClaimId, Session};
use crate::sync::lock;
use std::sync::Mutex;

/// An entry that holds a lock.
pub(super) struct Seat {
    /// Lost when somebody deletes the entry.
    pub(super) session: Session,
    /// The lease of the entry, and its length in seconds.
    pub(super) lease: i64,
    pub(super) seconds: u64,
    /// The revision at which the entry was created.
    pub(super) revision: i64,
    pub(super) _watched: Watched,
}

/// The lease and revision of an entry that holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryLease {
    pub(super) lease: i64,
    pub(super) seconds: u64,
    pub(super) revision: i64,
}

#[derive(Default)]
pub(super) struct Seats(Mutex<ByClaim<Seat>>);

impl Seats {
    /// The session of the seat of a claim; takes the seat if it is not taken.
    pub(super) fn session(&self, id: ClaimId, take: impl FnOnce() -> Seat) -> Session {
        lock(&self.0).entry(id).or_insert_with(take).session.clone()
    }

    pub(super) fn place(&self, id: ClaimId) -> Option<EntryLease> {
        let seats = lock(&self.0);
        seats.get(&id).map(|seat| EntryLease {
            lease: seat.lease,
            seconds: seat.seconds,
            revision: seat.revision,
        })
    }

    /// Records that the entry is attached to another lease than it was `from`, unless that has been recorded meanwhile: a renewal
    /// does not know what somebody who asks for more time does at the same moment.
    pub(super) fn moved(&self, id: ClaimId, from: EntryLease, lease: i64, seconds: u64) {
        if let Some(seat) = lock(&self.0).get_mut(&id)
            && seat.lease == from.lease
        {
            (seat.lease, seat.seconds) = (lease, seconds);
        }
    }

    pub(super) fn leave(&self, id: ClaimId) {
        // Its watch must not end under the lock.
        let seat = lock(&self.0).remove(&id);
        drop(seat);
    }

    pub(super) fn clear(&self) {
        let seats = std::mem::take(&mut *lock(&self.0));
        drop(seats);
    }
}

//! What this client holds and waits for.

use super::lock::Opened;
use super::paths::Spot;
use super::readers::Record;
use super::recheck::Rounded;
use super::state::State;
use crate::LossCause;
use crate::backend::{Claim, ClaimId, Leave, Release, Session};
use crate::sys::gate::{self, Closed};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One grant, with everything that ends it.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) claim: Claim,
    pub(super) spot: Spot,
    /// Locked.
    pub(super) bolt: Opened,
    pub(super) how: How,
    pub(super) state: State,
    pub(super) turns: u16,
    /// The lock file: gone, the grant is lost.
    pub(super) session: Session,
}

/// How it is held.
#[derive(Debug)]
pub(super) enum How {
    Exclusive,
    /// On the way from writer to reader, behind the closed gate. The kernel's lock may be gone for a moment.
    Between(Closed),
    Shared(Record),
}

impl Held {
    /// Whether others who come lock the same file.
    fn is_linked(&self) -> bool {
        self.bolt.file.is_at(&self.spot.lock)
    }

    /// Gives the lock back. That the record cannot be written keeps nobody: the kernel's lock is the truth, and the
    /// clock is the floor under the next token.
    pub(super) fn release(mut self, used: u16) {
        match self.how {
            How::Exclusive => {
                self.state.free(used);
                let _ = self.state.write(self.bolt.fd(), &self.spot.lock);
            }
            How::Between(closed) => gate::open(self.bolt.fd(), closed),
            // The file is not this reader's alone, and its one token is used. What is after it goes before the lock.
            How::Shared(record) => drop(record),
        }
        self.bolt.free();
    }
}

/// All that one client holds, by claim.
#[derive(Debug, Default)]
pub(super) struct Holds(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    held: HashMap<ClaimId, Held>,
    waiting: HashSet<ClaimId>,
}

impl Holds {
    /// Looks at a grant of this client.
    pub(super) fn with<T>(&self, id: ClaimId, look: impl FnOnce(&Held) -> T) -> Option<T> {
        self.lock().held.get(&id).map(look)
    }

    /// Changes a grant of this client.
    pub(super) fn with_mut<T>(&self, id: ClaimId, change: impl FnOnce(&mut Held) -> T) -> Option<T> {
        self.lock().held.get_mut(&id).map(change)
    }

    /// Enters a grant. A `queued` one whose release came first is answered instead.
    pub(super) fn insert(&self, held: Held, queued: bool) -> Option<Held> {
        let mut table = self.lock();
        if queued && !table.waiting.contains(&held.claim.id) {
            return Some(held);
        }
        table.held.insert(held.claim.id, held)
    }

    pub(super) fn remove(&self, id: ClaimId) -> Option<Held> {
        self.lock().held.remove(&id)
    }

    /// From now on a release ends the wait of this claim.
    pub(super) fn wait(&self, id: ClaimId) {
        self.lock().waiting.insert(id);
    }

    pub(super) fn is_waiting(&self, id: ClaimId) -> bool {
        self.lock().waiting.contains(&id)
    }

    pub(super) fn leave(&self, id: ClaimId) {
        self.lock().waiting.remove(&id);
    }

    /// A lock whose file is not there any more kept nobody out: that is not a lock given back.
    pub(super) fn release(&self, id: ClaimId, leave: Leave) -> Release {
        let (held, waited) = {
            let mut table = self.lock();
            (table.held.remove(&id), table.waiting.remove(&id))
        };
        let freed = held.as_ref().is_some_and(Held::is_linked) || waited;
        if let Some(held) = held {
            held.release(leave.used);
        }
        if freed { Release::Freed } else { Release::NotHeld }
    }

    /// Whether the grant still keeps others out. If not, all who hold it are told.
    pub(super) fn is_good(&self, id: ClaimId) -> bool {
        let gone = self.with(id, |held| (!held.is_linked()).then(|| held.session.clone()));
        match gone {
            None => false,
            Some(None) => true,
            Some(Some(session)) => {
                session.lose(LossCause::Gone);
                false
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rounded for Holds {
    fn is_held(&self) -> bool {
        !self.lock().held.is_empty()
    }

    /// Told outside the lock: whoever hears of a loss may release at once.
    fn look(&self) {
        let lost: Vec<Session> = {
            let table = self.lock();
            table.held.values().filter(|h| !h.is_linked()).map(|h| h.session.clone()).collect()
        };
        lost.iter().for_each(|s| s.lose(LossCause::Gone));
    }

    fn touch(&self) {
        self.lock().held.values().for_each(|held| held.bolt.touch());
    }
}

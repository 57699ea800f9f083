//! The table of what one client holds and waits for, by claim.

use crate::backend::{ClaimId, Extension, Grant, Release, Session};
use crate::{Clock, LossCause};
use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard};

/// One grant on a locked file.
pub(super) trait Hold: Debug + Send + 'static {
    /// Whether the locked file still has its path, so that others who come lock the same one.
    fn is_linked(&self) -> bool;

    /// Lost when the file is not at its path any more.
    fn session(&self) -> &Session;

    /// Marks the file as used, for programs that delete old files.
    fn touch(&self);

    /// Gives the lock back after `used` turns.
    fn release(self, used: u16);
}

/// All that one client holds, by claim.
#[derive(Debug)]
pub(super) struct Holds<H>(Mutex<Table<H>>);

#[derive(Debug)]
struct Table<H> {
    held: HashMap<ClaimId, H>,
    /// Claims whose release ends their wait.
    waiting: HashSet<ClaimId>,
}

impl<H> Default for Holds<H> {
    fn default() -> Self {
        Self(Mutex::new(Table { held: HashMap::new(), waiting: HashSet::new() }))
    }
}

impl<H: Hold> Holds<H> {
    /// Looks at a grant of this client.
    pub(super) fn with<T>(&self, id: ClaimId, look: impl FnOnce(&H) -> T) -> Option<T> {
        self.lock().held.get(&id).map(look)
    }

    /// Changes a grant of this client.
    pub(super) fn with_mut<T>(&self, id: ClaimId, change: impl FnOnce(&mut H) -> T) -> Option<T> {
        self.lock().held.get_mut(&id).map(change)
    }

    /// Enters a grant. A `queued` one whose release came first is handed back instead.
    pub(super) fn insert(&self, id: ClaimId, held: H, queued: bool) -> Option<H> {
        let mut table = self.lock();
        if queued && !table.waiting.contains(&id) {
            return Some(held);
        }
        table.held.insert(id, held)
    }

    /// Takes a grant out without giving its lock back.
    pub(super) fn remove(&self, id: ClaimId) -> Option<H> {
        self.lock().held.remove(&id)
    }

    /// From now on a release ends the wait of this claim.
    pub(super) fn wait(&self, id: ClaimId) {
        self.lock().waiting.insert(id);
    }

    /// Whether this claim waits and was not released.
    pub(super) fn is_waiting(&self, id: ClaimId) -> bool {
        self.lock().waiting.contains(&id)
    }

    /// The claim does not wait any more.
    pub(super) fn leave(&self, id: ClaimId) {
        self.lock().waiting.remove(&id);
    }

    /// Releases a grant, or ends a wait. A lock whose file is not at its path any more kept nobody out, so it does not
    /// count as given back.
    pub(super) fn release(&self, id: ClaimId, used: u16) -> Release {
        let (held, waited) = {
            let mut table = self.lock();
            (table.held.remove(&id), table.waiting.remove(&id))
        };
        let freed = held.as_ref().is_some_and(H::is_linked) || waited;
        if let Some(held) = held {
            held.release(used);
        }
        if freed { Release::Freed } else { Release::NotHeld }
    }

    /// Whether the grant still keeps others out. If not, its session is lost.
    pub(super) fn is_good(&self, id: ClaimId) -> bool {
        match self.with(id, |held| (!held.is_linked()).then(|| held.session().clone())) {
            None => false,
            Some(None) => true,
            Some(Some(session)) => {
                session.lose(LossCause::Gone);
                false
            }
        }
    }

    /// The answers to [`Backend::extend`](crate::backend::Backend::extend).
    pub(super) fn extend(&self, grants: &[&Grant], clock: &dyn Clock) -> Vec<crate::Result<Extension>> {
        let extend = |grant: &&Grant| {
            let as_of = clock.now();
            let good = self.is_good(grant.claim.id);
            Ok(if good { Extension::Extended { as_of, ttl: None } } else { Extension::Lost(LossCause::Gone) })
        };
        grants.iter().map(extend).collect()
    }

    /// Whether nothing is held.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().held.is_empty()
    }

    /// Ends the sessions of those grants whose file is not at its path any more.
    pub(super) fn check(&self) {
        let lost: Vec<Session> = {
            let table = self.lock();
            table.held.values().filter(|held| !held.is_linked()).map(|held| held.session().clone()).collect()
        };
        // Without the table's lock, because whoever hears of a loss may release at once.
        lost.iter().for_each(|session| session.lose(LossCause::Gone));
    }

    /// Marks all files as used.
    pub(super) fn touch(&self) {
        self.lock().held.values().for_each(H::touch);
    }

    fn lock(&self) -> MutexGuard<'_, Table<H>> {
        crate::sync::lock(&self.0)
    }
}

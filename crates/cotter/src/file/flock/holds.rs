//! What one client holds and waits for.

use crate::LossCause;
use crate::backend::{Claim, ClaimId, Grant, Release, Session};
use crate::file::lock::Opened;
use crate::file::recheck::Rounded;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One path's grants, by claim.
#[derive(Debug)]
pub(super) struct Holds {
    path: PathBuf,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    held: HashMap<ClaimId, (Opened, Grant)>,
    /// Claims whose release ends their wait.
    waiting: HashSet<ClaimId>,
}

impl Holds {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, table: Mutex::default() }
    }

    pub(super) fn wait(&self, id: ClaimId) {
        self.lock().waiting.insert(id);
    }

    pub(super) fn leave(&self, id: ClaimId) {
        self.lock().waiting.remove(&id);
    }

    pub(super) fn grant(&self, claim: &Claim) -> Option<Grant> {
        self.lock().held.get(&claim.id).map(|(_, grant)| grant.clone())
    }

    /// Looks at the lock of a grant.
    pub(super) fn with<T>(&self, id: ClaimId, look: impl FnOnce(&Opened) -> T) -> Option<T> {
        self.lock().held.get(&id).map(|(opened, _)| look(opened))
    }

    /// Enters a grant. The lock of a `queued` one whose release came first is answered instead.
    pub(super) fn insert(&self, opened: Opened, grant: Grant, queued: bool) -> Option<Opened> {
        let mut table = self.lock();
        let id = grant.claim.id;
        if queued && !table.waiting.contains(&id) {
            return Some(opened);
        }
        table.held.insert(id, (opened, grant));
        None
    }

    /// A lock on a file that is not there any more kept nobody out.
    pub(super) fn release(&self, id: ClaimId) -> Release {
        let (held, waited) = {
            let mut table = self.lock();
            (table.held.remove(&id), table.waiting.remove(&id))
        };
        let freed = held.as_ref().is_some_and(|(opened, _)| opened.file.is_at(&self.path)) || waited;
        if let Some((opened, _)) = held {
            opened.free();
        }
        if freed { Release::Freed } else { Release::NotHeld }
    }

    /// Whether the grant still keeps others out. If not, all who hold it are told.
    pub(super) fn is_good(&self, id: ClaimId) -> bool {
        let gone = match self.lock().held.get(&id) {
            None => return false,
            Some((opened, _)) if opened.file.is_at(&self.path) => return true,
            Some((_, grant)) => grant.session.clone(),
        };
        tell(gone);
        false
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tell(lost: impl IntoIterator<Item = Session>) {
    lost.into_iter().for_each(|session| session.lose(LossCause::Gone));
}

impl Rounded for Holds {
    fn is_held(&self) -> bool {
        !self.lock().held.is_empty()
    }

    fn look(&self) {
        let lost: Vec<Session> = {
            let table = self.lock();
            let gone = table.held.values().filter(|(opened, _)| !opened.file.is_at(&self.path));
            gone.filter_map(|(_, grant)| grant.session.clone()).collect()
        };
        tell(lost);
    }

    fn touch(&self) {
        self.lock().held.values().for_each(|(opened, _)| opened.touch());
    }
}

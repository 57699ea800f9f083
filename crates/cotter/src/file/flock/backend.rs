//! The contract, on one lock.

use super::lock::{Attempts, Opened};
use super::{SCHEME, tokens};
use crate::backend::{
    Backend, Capabilities, Claim, ClaimId, Extension, Grant, Info, Leave, Mode, Release, Until,
};
use crate::clock::unix_micros;
use crate::file::directory::Directory;
use crate::{Clock, Error, ErrorKind, LossCause, Moment, Result, Session, poll};
use async_trait::async_trait;
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// One client's view of the lock.
#[derive(Debug)]
pub(super) struct FlockFile {
    path: PathBuf,
    directory: Directory,
    clock: Arc<dyn Clock>,
    table: Mutex<Table>,
    info: Info,
}

#[derive(Debug, Default)]
struct Table {
    held: HashMap<ClaimId, (Opened, Grant)>,
    /// Claims whose release ends their wait.
    waiting: HashSet<ClaimId>,
}

/// Something about this path that the system refuses.
pub(super) fn error(what: &str, path: &Path, errno: Errno) -> Error {
    let kind = match errno {
        Errno::ACCESS | Errno::PERM | Errno::ROFS => ErrorKind::Denied,
        Errno::NOENT | Errno::NOTDIR | Errno::ISDIR | Errno::LOOP => ErrorKind::Config,
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, format!("{what} {} failed: {}", path.display(), std::io::Error::from(errno)))
        .with_backend(SCHEME)
}

impl FlockFile {
    pub(super) fn new(path: PathBuf, directory: Directory, clock: Arc<dyn Clock>) -> Self {
        let mut info = Info::new(SCHEME, format!("flock:{}", path.display()));
        info.capabilities =
            Capabilities { immediate: true, min_ttl: Duration::from_millis(1), ..Capabilities::default() };
        Self { path, directory, clock, table: Mutex::default(), info }
    }

    /// From the kernel's lock to a grant. `None` when its release came first, or another file stands there by now.
    fn keep(&self, claim: &Claim, opened: Opened, as_of: Moment, queued: bool) -> Result<Option<Grant>> {
        if !opened.file.is_at(&self.path) {
            return Ok(None);
        }
        let clock = unix_micros(self.clock.wall());
        let (number, turns) = tokens::reserve(&self.directory, opened.file, claim.turns, clock)?;
        let session = Some(Session::new());
        let grant = Grant { claim: claim.clone(), number, turns, as_of, ttl: None, session, votes: None };
        let mut table = self.lock();
        if queued && !table.waiting.contains(&claim.id) {
            drop(table);
            opened.free();
            return Err(Error::not_ours(claim.id));
        }
        table.held.insert(claim.id, (opened, grant.clone()));
        Ok(Some(grant))
    }

    fn granted_before(&self, claim: &Claim) -> Option<Grant> {
        self.lock().held.get(&claim.id).map(|(_, grant)| Grant { as_of: self.clock.now(), ..grant.clone() })
    }

    /// Whether others who come lock the same file.
    fn is_good(&self, id: ClaimId) -> bool {
        let gone = match self.lock().held.get(&id) {
            None => return false,
            Some((opened, _)) if opened.file.is_at(&self.path) => return true,
            Some((_, grant)) => grant.session.clone(),
        };
        gone.into_iter().for_each(|session| session.lose(LossCause::Gone));
        false
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A claim that waits, until it is dropped.
struct Waits<'a>(&'a FlockFile, ClaimId);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.lock().waiting.remove(&self.1);
    }
}

#[async_trait]
impl Backend for FlockFile {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Option<Grant>> {
        if claim.mode != Mode::Exclusive {
            return Err(Error::unsupported("anything but an exclusive lock", SCHEME));
        }
        if let Some(grant) = self.granted_before(claim) {
            return Ok(Some(grant));
        }
        if until == Until::Now {
            let (as_of, opened) = (self.clock.now(), Opened::at(&self.path)?);
            let free = opened.attempt(&self.path)?;
            return if free { self.keep(claim, opened, as_of, false) } else { Ok(None) };
        }
        self.lock().waiting.insert(claim.id);
        let _waits = Waits(self, claim.id);
        loop {
            let mut attempts = Attempts::new(&self.path);
            let Some(opened) = poll::until(&*self.clock, until, &mut attempts).await? else {
                return Ok(None);
            };
            let granted = self.keep(claim, opened, self.clock.now(), true)?;
            if granted.is_some() {
                return Ok(granted);
            }
        }
    }

    async fn extend(&self, grants: &[&Grant], _ttl: Duration) -> Vec<Result<Extension>> {
        let extend = |grant: &&Grant| {
            let as_of = self.clock.now();
            let good = self.is_good(grant.claim.id);
            Ok(if good { Extension::Extended { as_of, ttl: None } } else { Extension::Lost(LossCause::Gone) })
        };
        grants.iter().map(extend).collect()
    }

    async fn release(&self, claim: &Claim, _leave: Leave) -> Result<Release> {
        let (held, waited) = {
            let mut table = self.lock();
            (table.held.remove(&claim.id), table.waiting.remove(&claim.id))
        };
        // A lock on a file that is not there any more kept nobody out.
        let freed = held.as_ref().is_some_and(|(opened, _)| opened.file.is_at(&self.path)) || waited;
        if let Some((opened, _)) = held {
            opened.free();
        }
        Ok(if freed { Release::Freed } else { Release::NotHeld })
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        Ok(Some(self.clock.wall()))
    }

    async fn close(&self) {}

    fn descriptors(&self, grant: &Grant) -> std::io::Result<Vec<OwnedFd>> {
        let table = self.lock();
        table.held.get(&grant.claim.id).map(|(opened, _)| opened.fd.try_clone()).into_iter().collect()
    }
}

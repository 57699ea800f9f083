//! The backend contract, on one lock.

use super::held::Held;
use super::waiting::{Waiter, open_at};
use super::{SCHEME, error, tokens};
use crate::backend::poll;
use crate::backend::{
    Acquired, Admin, Backend, Capabilities, Claim, Extension, Grant, Info, Leave, Release, Session, Until,
};
use crate::clock::unix_micros;
use crate::stores::file::directory::Directory;
use crate::stores::file::holds::{Hold, Holds};
use crate::stores::file::kernel_queue::{WaitThreads, has_abandoned};
use crate::stores::file::lock::{LockFile, LockKind};
use crate::stores::file::recheck::Rechecks;
use crate::{Clock, Error, Moment, Result};
use async_trait::async_trait;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

/// One client's connection to the lock.
#[derive(Debug)]
pub(super) struct FlockFile {
    pub(super) path: PathBuf,
    /// The directory with the counter of the tokens. Without one the clock alone gives them.
    pub(super) counters: Option<Directory>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) holds: Arc<Holds<Held>>,
    pub(super) threads: WaitThreads,
    rechecks: Rechecks,
    info: Info,
}

/// An abandoned thread may have the lock for a moment: how often to try, and how long to pause before the next try.
const TRIES: usize = 10;
const PAUSE: Duration = Duration::from_micros(100);

impl FlockFile {
    /// Its background task runs on the runtime of the caller.
    pub(super) fn new(path: PathBuf, counters: Option<Directory>, clock: Arc<dyn Clock>) -> Self {
        let mut info = Info::new(SCHEME, format!("flock:{}", path.display()));
        info.capabilities = Capabilities {
            distinct: true,
            immediate: true,
            min_ttl: Duration::from_millis(1),
            ..Capabilities::default()
        };
        let holds = Arc::default();
        let rechecks = Rechecks::start(&holds);
        Self { path, counters, clock, holds, threads: WaitThreads::default(), rechecks, info }
    }

    fn take(&self, claim: &Claim) -> Result<Option<Grant>> {
        let (as_of, opened) = (self.clock.now(), open_at(&self.path)?);
        for _ in 0..TRIES {
            if opened.attempt(LockKind::Exclusive).map_err(|e| error("locking", &self.path, e))? {
                return self.keep(claim, opened, as_of, false);
            }
            if !has_abandoned(opened.id) {
                break;
            }
            thread::sleep(PAUSE);
        }
        Ok(None)
    }

    /// Makes a grant of the locked file; `None` when another file is at its path by now.
    pub(super) fn keep(
        &self,
        claim: &Claim,
        opened: LockFile,
        as_of: Moment,
        queued: bool,
    ) -> Result<Option<Grant>> {
        if !opened.id.is_at(&self.path) {
            return Ok(None);
        }
        let clock = unix_micros(self.clock.wall());
        let (number, turns) =
            tokens::reserve(self.counters.as_ref(), (opened.id, &self.path), claim.turns, clock)?;
        opened.touch();
        let session = Session::new();
        let lives = Some(session.clone());
        let grant = Grant { turns, session: lives, ..Grant::new(claim.clone(), number, as_of) };
        let held = Held { path: self.path.clone(), file: opened, grant: grant.clone(), session };
        if let Some(held) = self.holds.insert(claim.id, held, queued) {
            held.release(0);
            return Err(Error::not_ours(claim.id));
        }
        self.rechecks.begin();
        Ok(Some(grant))
    }
}

#[async_trait]
impl Backend for FlockFile {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        self.info.supports(claim.mode)?;
        if let Some(grant) = self.holds.with(claim.id, |held| held.grant.clone()) {
            return Ok(Acquired::Granted(Grant { as_of: self.clock.now(), ..grant }));
        }
        if until == Until::Now {
            return self.take(claim).map(Acquired::from);
        }
        poll::until(&*self.clock, until, &mut Waiter::new(self, claim)).await.map(Acquired::from)
    }

    async fn extend(&self, grants: &[&Grant], _ttl: Duration) -> Vec<Result<Extension>> {
        self.holds.extend(grants, &*self.clock)
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        Ok(self.holds.release(claim.id, leave.used))
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        Ok(Some(self.clock.wall()))
    }

    async fn close(&self) {}

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }

    fn descriptors(&self, grant: &Grant) -> std::io::Result<Vec<OwnedFd>> {
        self.holds.with(grant.claim.id, |held| held.file.duplicate()).into_iter().collect()
    }
}

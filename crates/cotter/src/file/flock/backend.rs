//! The contract, on one lock.

use super::holds::Holds;
use super::lock::{Place, open_at};
use super::{SCHEME, error, tokens};
use crate::backend::poll;
use crate::backend::{
    Admin, Backend, Capabilities, Claim, Extension, Grant, Info, Leave, Mode, Release, Session, Until,
};
use crate::clock::unix_micros;
use crate::file::directory::Directory;
use crate::file::kernel_queue::{Sleepers, has_left};
use crate::file::lock::{Opened, Way};
use crate::file::recheck::Rounds;
use crate::{Clock, Error, LossCause, Moment, Result};
use async_trait::async_trait;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

/// One client's view of the lock.
#[derive(Debug)]
pub(super) struct FlockFile {
    pub(super) path: PathBuf,
    /// Where the counter of the tokens is. Without one the clock alone gives them.
    pub(super) counters: Option<Directory>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) holds: Arc<Holds>,
    pub(super) sleepers: Sleepers,
    rounds: Rounds,
    info: Info,
}

/// A thread of ours that was left waiting may have the lock for a moment: how often to try again, and after how long.
const TRIES: usize = 10;
const NAP: Duration = Duration::from_micros(100);

impl FlockFile {
    /// Looks after what it will hold on the runtime that calls.
    pub(super) fn new(path: PathBuf, counters: Option<Directory>, clock: Arc<dyn Clock>) -> Self {
        let mut info = Info::new(SCHEME, format!("flock:{}", path.display()));
        info.capabilities =
            Capabilities { immediate: true, min_ttl: Duration::from_millis(1), ..Capabilities::default() };
        let holds = Arc::new(Holds::new(path.clone()));
        let rounds = Rounds::start(&holds);
        Self { path, counters, clock, holds, sleepers: Sleepers::default(), rounds, info }
    }

    fn take(&self, claim: &Claim) -> Result<Option<Grant>> {
        let (as_of, opened) = (self.clock.now(), open_at(&self.path)?);
        for _ in 0..TRIES {
            if opened.attempt(Way::Alone).map_err(|e| error("locking", &self.path, e))? {
                return self.keep(claim, opened, as_of, false);
            }
            if !has_left(opened.file) {
                break;
            }
            thread::sleep(NAP);
        }
        Ok(None)
    }

    /// From the kernel's lock to a grant. `None` when another file stands there by now.
    pub(super) fn keep(
        &self,
        claim: &Claim,
        opened: Opened,
        as_of: Moment,
        queued: bool,
    ) -> Result<Option<Grant>> {
        if !opened.file.is_at(&self.path) {
            return Ok(None);
        }
        let clock = unix_micros(self.clock.wall());
        let (number, turns) =
            tokens::reserve(self.counters.as_ref(), (opened.file, &self.path), claim.turns, clock)?;
        opened.touch();
        let session = Some(Session::new());
        let grant = Grant { turns, session, ..Grant::new(claim.clone(), number, as_of) };
        if let Some(opened) = self.holds.insert(opened, grant.clone(), queued) {
            opened.free();
            return Err(Error::not_ours(claim.id));
        }
        self.rounds.begin();
        Ok(Some(grant))
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
        if let Some(grant) = self.holds.grant(claim) {
            return Ok(Some(Grant { as_of: self.clock.now(), ..grant }));
        }
        if until == Until::Now {
            return self.take(claim);
        }
        poll::until(&*self.clock, until, &mut Place::new(self, claim)).await
    }

    async fn extend(&self, grants: &[&Grant], _ttl: Duration) -> Vec<Result<Extension>> {
        let extend = |grant: &&Grant| {
            let as_of = self.clock.now();
            let good = self.holds.is_good(grant.claim.id);
            Ok(if good { Extension::Extended { as_of, ttl: None } } else { Extension::Lost(LossCause::Gone) })
        };
        grants.iter().map(extend).collect()
    }

    async fn release(&self, claim: &Claim, _leave: Leave) -> Result<Release> {
        Ok(self.holds.release(claim.id))
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        Ok(Some(self.clock.wall()))
    }

    async fn close(&self) {}

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }

    fn descriptors(&self, grant: &Grant) -> std::io::Result<Vec<OwnedFd>> {
        self.holds.with(grant.claim.id, Opened::duplicate).into_iter().collect()
    }
}

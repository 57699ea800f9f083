//! The backend contract, on files.

use super::directory::Directory;
use super::held::Held;
use super::holds::Holds;
use super::kernel_queue::WaitThreads;
use super::paths::LockPaths;
use super::recheck::Rechecks;
use super::waiting::Waiter;
use crate::backend::poll;
use crate::backend::{
    Acquired, Admin, Backend, Capabilities, Claim, Extension, Grant, Info, Leave, Notes, Release, Until,
};
use crate::sys::watch::Watcher;
use crate::{Clock, Moment, Name, Result};
use async_trait::async_trait;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

/// One client's connection to a directory.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) directory: Directory,
    pub(super) holds: Arc<Holds<Held>>,
    pub(super) threads: WaitThreads,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) rechecks: Rechecks,
    /// None where the system gives no inotify instance.
    watcher: OnceLock<Option<Arc<Watcher>>>,
    /// When the directory was checked last, in nanoseconds.
    checked: AtomicU64,
    info: Info,
}

/// Another directory at the path of ours is noticed after this long.
const CHECK_PERIOD: Duration = Duration::from_secs(1);

impl Files {
    /// Its background task runs on the runtime of the caller.
    pub(super) fn new(directory: Directory, clock: Arc<dyn Clock>) -> Self {
        let mut info = Info::new(super::SCHEME, format!("file://{}", directory.path.display()));
        info.capabilities = Capabilities {
            ordered: true,
            names: true,
            distinct: true,
            records: true,
            shared: true,
            downgrade: true,
            permits: true,
            notes: true,
            swap: true,
            immediate: true,
            min_ttl: Duration::from_millis(1),
            ..Capabilities::default()
        };
        let holds = Arc::default();
        let rechecks = Rechecks::start(&holds);
        let (threads, watcher) = (WaitThreads::default(), OnceLock::new());
        let checked = AtomicU64::new(clock.now().as_nanos());
        Self { directory, holds, threads, clock, rechecks, watcher, checked, info }
    }

    /// The watcher for file system events, started by the first caller.
    pub(super) fn watcher(&self) -> Option<&Arc<Watcher>> {
        self.watcher.get_or_init(|| Watcher::start().ok()).as_ref()
    }

    #[cfg(test)]
    pub(super) fn started_watcher(&self) -> Option<&Arc<Watcher>> {
        self.watcher.get()?.as_ref()
    }

    pub(super) fn paths(&self, name: &Name) -> LockPaths {
        LockPaths::of(&self.directory, name)
    }

    /// Checks the directory again now and then: it may have been moved away, and others may have access to the one that is
    /// at its path now.
    pub(super) fn check_directory(&self, now: Moment) -> Result<()> {
        let checked = self.checked.load(Ordering::Relaxed);
        if now.as_nanos().saturating_sub(checked) >= CHECK_PERIOD.as_nanos() as u64 {
            self.directory.check_again()?;
            self.checked.store(now.as_nanos(), Ordering::Relaxed);
        }
        Ok(())
    }

    pub(super) fn granted_before(&self, claim: &Claim) -> Option<Grant> {
        self.holds.with(claim.id, |held| held.grant(self.clock.now()))
    }
}

#[async_trait]
impl Backend for Files {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        self.info.supports(claim.mode).and(claim.mode.check())?;
        if let Some(grant) = self.granted_before(claim) {
            return Ok(Acquired::Granted(grant));
        }
        if until == Until::Now {
            let paths = self.paths(&claim.name);
            let granted = match claim.mode.is_permits() {
                true => self.take_permits(claim, &paths, None)?.ok(),
                false => self.take(claim, &paths, false)?,
            };
            return Ok(granted.into());
        }
        poll::until(&*self.clock, until, &mut Waiter::new(self, claim)).await.map(Acquired::from)
    }

    async fn extend(&self, grants: &[&Grant], _ttl: Duration) -> Vec<Result<Extension>> {
        self.holds.extend(grants, &*self.clock)
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        Ok(self.holds.release(claim.id, leave.used))
    }

    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        self.become_reader(grant).await
    }

    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        self.change_limit(name, of).await.map_err(|e| e.with_name(name))
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        Ok(Some(self.clock.wall()))
    }

    async fn close(&self) {
        if let Some(Some(watcher)) = self.watcher.get() {
            watcher.end();
        }
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(self)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }

    fn descriptors(&self, grant: &Grant) -> std::io::Result<Vec<OwnedFd>> {
        self.holds.with(grant.claim.id, |held| held.file.duplicate()).into_iter().collect()
    }
}

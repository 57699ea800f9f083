//! One try, and the wait for the lock in the kernel's queue.

use super::backend::FlockFile;
use super::error;
use crate::Result;
use crate::backend::poll::Attempt;
use crate::backend::{Claim, Grant};
use crate::file::kernel_queue::Sleeper;
use crate::file::lock::{Opened, Way};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Another file in the place of the one that is waited for is noticed after this long.
const LOOK: Duration = Duration::from_secs(1);
/// Where no thread could be had to stand in the kernel's queue.
const POLL: Duration = Duration::from_millis(50);

/// Opens the file as flock(1) does.
pub(super) fn open_at(path: &Path) -> Result<Opened> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let mode = Mode::from_raw_mode(0o666);
    // Making it comes second: in a directory with the sticky bit the system may refuse that for a file of somebody else,
    // though it is there.
    let opened = match open(path, flags, mode) {
        Err(Errno::NOENT) => open(path, flags | OFlags::CREATE, mode),
        other => other,
    };
    opened.and_then(Opened::of).map_err(|e| error("opening", path, e))
}

/// One who waits.
pub(super) struct Place<'a> {
    file: &'a FlockFile,
    claim: &'a Claim,
    sleeper: Option<Sleeper>,
    woken: Arc<Notify>,
}

impl<'a> Place<'a> {
    pub(super) fn new(file: &'a FlockFile, claim: &'a Claim) -> Self {
        file.holds.wait(claim.id);
        Self { file, claim, sleeper: None, woken: Arc::default() }
    }

    /// What the kernel has given us, if it is still the file that others lock.
    fn caught(&mut self) -> Result<Option<Grant>> {
        let Some(sleeper) = &self.sleeper else { return Ok(None) };
        let Some(got) = sleeper.outcome() else { return Ok(None) };
        self.sleeper = None;
        let opened = got.map_err(|e| error("locking", &self.file.path, e))?;
        self.file.keep(self.claim, opened, self.file.clock.now(), true)
    }

    fn look(&mut self) -> Result<Option<Grant>> {
        if let Some(grant) = self.caught()? {
            return Ok(Some(grant));
        }
        let path = &self.file.path;
        if self.sleeper.as_ref().is_some_and(|s| s.file().is_at(path)) {
            return Ok(None);
        }
        let (as_of, opened) = (self.file.clock.now(), open_at(path)?);
        if opened.attempt(Way::Alone).map_err(|e| error("locking", path, e))? {
            return self.file.keep(self.claim, opened, as_of, true);
        }
        self.sleeper = self.file.sleepers.start(opened, Way::Alone, &self.woken);
        Ok(None)
    }
}

impl Attempt for Place<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        self.look()
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.woken.clone().notified_owned())
    }

    fn period(&self) -> Duration {
        if self.sleeper.is_some() { LOOK } else { POLL }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.file.holds.leave(self.claim.id);
    }
}

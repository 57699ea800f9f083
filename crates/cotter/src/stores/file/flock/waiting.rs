//! Waiting for the lock, in the kernel's queue.

use super::backend::FlockFile;
use super::error;
use crate::Result;
use crate::backend::poll::Attempt;
use crate::backend::{Claim, Grant};
use crate::stores::file::kernel_queue::QueuedWait;
use crate::stores::file::lock::{LockFile, LockKind};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Another file at the path of the one that is waited for is noticed after this long.
const LOOK_PERIOD: Duration = Duration::from_secs(1);
/// How often to try where no thread could be had to wait in the kernel's queue.
const POLL_PERIOD: Duration = Duration::from_millis(50);

/// Opens the file as flock(1) does.
pub(super) fn open_at(path: &Path) -> Result<LockFile> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let mode = Mode::from_raw_mode(0o666);
    // Creating it comes second: in a directory with the sticky bit the system may refuse that for another user's file,
    // though it exists.
    let opened = match open(path, flags, mode) {
        Err(Errno::NOENT) => open(path, flags | OFlags::CREATE, mode),
        other => other,
    };
    opened.and_then(LockFile::from_fd).map_err(|e| error("opening", path, e))
}

/// A claim that waits.
pub(super) struct Waiter<'a> {
    file: &'a FlockFile,
    claim: &'a Claim,
    wait: Option<QueuedWait>,
    woken: Arc<Notify>,
}

impl<'a> Waiter<'a> {
    pub(super) fn new(file: &'a FlockFile, claim: &'a Claim) -> Self {
        file.holds.wait(claim.id);
        Self { file, claim, wait: None, woken: Arc::default() }
    }

    /// The grant, if the kernel has given us the lock of the file that others still lock.
    fn locked(&mut self) -> Result<Option<Grant>> {
        let Some(wait) = &self.wait else { return Ok(None) };
        let Some(outcome) = wait.outcome() else { return Ok(None) };
        self.wait = None;
        let locked = outcome.map_err(|e| error("locking", &self.file.path, e))?;
        self.file.keep(self.claim, locked, self.file.clock.now(), true)
    }

    fn look(&mut self) -> Result<Option<Grant>> {
        if let Some(grant) = self.locked()? {
            return Ok(Some(grant));
        }
        let path = &self.file.path;
        if self.wait.as_ref().is_some_and(|wait| wait.file().is_at(path)) {
            return Ok(None);
        }
        let (as_of, opened) = (self.file.clock.now(), open_at(path)?);
        if opened.attempt(LockKind::Exclusive).map_err(|e| error("locking", path, e))? {
            return self.file.keep(self.claim, opened, as_of, true);
        }
        self.wait = self.file.threads.start(opened, LockKind::Exclusive, &self.woken);
        Ok(None)
    }
}

impl Attempt for Waiter<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        self.look()
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.woken.clone().notified_owned())
    }

    fn period(&self) -> Duration {
        if self.wait.is_some() { LOOK_PERIOD } else { POLL_PERIOD }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.file.holds.leave(self.claim.id);
    }
}

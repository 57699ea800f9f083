//! One try, and the wait for the next.

use super::backend::error;
use crate::Result;
use crate::file::lock::FileId;
use crate::poll::Attempt;
use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::unix::pipe::Receiver;

/// The file, open as flock(1) opens it.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) fd: OwnedFd,
    pub(super) file: FileId,
}

impl Opened {
    pub(super) fn at(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let mode = Mode::from_raw_mode(0o666);
        let opened = match open(path, flags | OFlags::CREATE, mode) {
            // A directory can be locked, but not made.
            Err(Errno::ISDIR) => open(path, flags, mode),
            other => other,
        };
        let fd = opened.map_err(|e| error("opening", path, e))?;
        let file = FileId::of(&fstat(&fd).map_err(|e| error("looking at", path, e))?);
        Ok(Self { fd, file })
    }

    /// Whether the lock is ours now.
    pub(super) fn attempt(&self, path: &Path) -> Result<bool> {
        match flock(&self.fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(e) => Err(error("locking", path, e)),
        }
    }

    /// By word: a child that was forked a moment ago may have the descriptor too.
    pub(super) fn free(self) {
        let _ = flock(&self.fd, FlockOperation::Unlock);
    }
}

/// Tries through one descriptor, so that a try in vain raises no event for the others.
pub(super) struct Attempts<'a> {
    path: &'a Path,
    opened: Option<Opened>,
    closes: Option<Arc<Receiver>>,
}

impl<'a> Attempts<'a> {
    pub(super) fn new(path: &'a Path) -> Self {
        Self { path, opened: None, closes: None }
    }
}

impl Attempt for Attempts<'_> {
    type Done = Opened;

    async fn attempt(&mut self) -> Result<Option<Opened>> {
        if let Some(closes) = &self.closes {
            let mut events = [0; 4096];
            while closes.try_read(&mut events).is_ok_and(|n| n > 0) {}
        }
        // Another file may stand there by now; the old one keeps nobody out.
        if self.opened.as_ref().is_none_or(|o| !o.file.is_at(self.path)) {
            self.opened = Some(Opened::at(self.path)?);
            self.closes = watch(self.path);
        }
        let Some(opened) = self.opened.take() else { return Ok(None) };
        if opened.attempt(self.path)? {
            return Ok(Some(opened));
        }
        self.opened = Some(opened);
        Ok(None)
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let Some(closes) = self.closes.clone() else { return Box::pin(std::future::pending()) };
        Box::pin(async move { drop(closes.readable().await) })
    }

    fn period(&self) -> Duration {
        Duration::from_millis(50)
    }
}

/// Every close of the file; `None` where the system gives no inotify instance.
fn watch(path: &Path) -> Option<Arc<Receiver>> {
    let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
    add_watch(&inotify, path, WatchFlags::CLOSE_WRITE | WatchFlags::CLOSE_NOWRITE).ok()?;
    Receiver::from_owned_fd_unchecked(inotify).ok().map(Arc::new)
}

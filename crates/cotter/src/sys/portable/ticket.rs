//! The file of a ticket: a regular one, because not every system can lock a pipe. A byte in it is a question to its
//! owner. It wakes nobody: a waiter has to look often.

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, ftruncate, open};
use rustix::io::Result;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long a waiter may rely on being woken.
pub(crate) const LOOK_PERIOD: Duration = Duration::from_millis(50);

/// Makes the file.
pub(crate) fn create(path: &Path, mode: Mode) -> Result<()> {
    open(path, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC, mode).map(drop)
}

/// It is small already.
pub(crate) fn shrink(_file: impl AsFd) {}

/// Whether a file can be a ticket.
pub(crate) fn is_one(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// Whether a question waits in it.
pub(crate) fn is_asked(file: impl AsFd) -> bool {
    fstat(file).is_ok_and(|found| found.st_size > 0)
}

/// Looks at a ticket.
#[derive(Debug, Clone)]
pub(crate) struct Listener(Arc<OwnedFd>);

impl Listener {
    pub(crate) fn new(file: OwnedFd) -> std::io::Result<Self> {
        Ok(Self(Arc::new(file)))
    }

    /// Never completes.
    pub(crate) async fn heard(self) {
        std::future::pending().await
    }

    /// Takes all questions out.
    pub(crate) fn answer(&self) {
        if is_asked(&self.0) {
            let _ = ftruncate(&self.0, 0);
        }
    }

    pub(crate) fn forget(&self) {}
}

//! The kernel's lock on one file, and the descriptor that keeps it.

use super::access::Access;
use super::errors::{fault, foreign};
use crate::Result;
use crate::sys::FileId;
use rustix::fs::{FileType, FlockOperation, OFlags, Timespec, Timestamps, flock, fstat, futimens};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Neither waits for a writer when a pipe stands there, nor follows a link out of the directory.
pub(super) const SAFE: OFlags =
    OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// In which way the kernel's lock is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Alone,
    WithReaders,
}

/// A file that can be locked, open.
#[derive(Debug)]
pub(super) struct Opened {
    fd: OwnedFd,
    pub(super) file: FileId,
}

impl Opened {
    /// A lock file of ours; made if it is missing.
    pub(super) fn ours(path: &Path, access: &Access) -> Result<Self> {
        let fd = access.open(path, SAFE | OFlags::RDWR).map_err(|e| fault("opening", path, e))?;
        let stat = fstat(&fd).map_err(|e| fault("looking at", path, e))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(foreign(path, "is not a regular file"));
        }
        Ok(Self { fd, file: FileId::of(&stat) })
    }

    /// Any file, as it was opened by somebody else.
    pub(super) fn of(fd: OwnedFd) -> rustix::io::Result<Self> {
        let file = FileId::of(&fstat(&fd)?);
        Ok(Self { fd, file })
    }

    /// One try; false when somebody has it.
    pub(super) fn attempt(&self, way: Way) -> rustix::io::Result<bool> {
        let how = match way {
            Way::Alone => FlockOperation::NonBlockingLockExclusive,
            Way::WithReaders => FlockOperation::NonBlockingLockShared,
        };
        match flock(&self.fd, how) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Stands in the kernel's queue until it has it.
    pub(super) fn wait(&self, way: Way) -> rustix::io::Result<()> {
        let how = match way {
            Way::Alone => FlockOperation::LockExclusive,
            Way::WithReaders => FlockOperation::LockShared,
        };
        rustix::io::retry_on_intr(|| flock(&self.fd, how))
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Gives the lock back. By word, not only by closing: a child that was forked a moment ago, and has not come to its
    /// `exec` yet, has the descriptor too.
    pub(super) fn free(self) {
        unlock(&self.fd);
    }

    /// Whether the lock could be had now. It is given back at once.
    pub(super) fn could_be_had(self, way: Way) -> bool {
        let free = self.attempt(way).is_ok_and(|free| free);
        if free {
            self.free();
        }
        free
    }

    /// Tells whoever clears old files away that this one is in use.
    pub(super) fn touch(&self) {
        let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        // Of a file of somebody else only the lock is ours.
        let _ = futimens(&self.fd, &Timestamps { last_access: now, last_modification: now });
    }

    /// The descriptor once more.
    pub(super) fn duplicate(&self) -> std::io::Result<OwnedFd> {
        self.fd.try_clone()
    }
}

pub(super) fn unlock(fd: impl AsFd) {
    // It can only fail for a descriptor that is not one; closing frees it too.
    let _ = flock(fd, FlockOperation::Unlock);
}

//! A lock file that is open, and the kernel's lock on it.

use super::access::Access;
use super::errors::{fault, foreign};
use crate::Result;
use crate::backend::Claim;
use crate::sys::{FileId, Unshared};
use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_NOW,
};
use rustix::fs::{flock, fstat, futimens, lstat, open, utimensat};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Opening with these flags neither blocks when the path is a pipe, nor follows a link out of the directory.
pub(super) const SAFE: OFlags =
    OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// The two kinds of the kernel's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockKind {
    Exclusive,
    Shared,
}

impl LockKind {
    /// The kind for a claim of `file:`.
    pub(super) fn of(claim: &Claim) -> Self {
        if claim.mode.is_exclusive() { Self::Exclusive } else { Self::Shared }
    }
}

/// An open file for the kernel's lock.
#[derive(Debug)]
pub(super) struct LockFile {
    fd: Unshared,
    pub(super) id: FileId,
}

impl LockFile {
    /// Opens a lock file of cotter's, and creates it if it is missing.
    pub(super) fn open(path: &Path, access: &Access) -> Result<Self> {
        Self::checked(access.open(path, SAFE | OFlags::RDWR).map_err(|e| fault("opening", path, e))?, path)
    }

    /// The same; `None` where it is missing.
    pub(super) fn existing(path: &Path) -> Result<Option<Self>> {
        match open(path, SAFE | OFlags::RDWR, Mode::empty()) {
            Ok(fd) => Self::checked(fd, path).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(fault("opening", path, e)),
        }
    }

    fn checked(fd: OwnedFd, path: &Path) -> Result<Self> {
        let stat = fstat(&fd).map_err(|e| fault("looking at", path, e))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(foreign(path, "is not a regular file"));
        }
        let id = FileId::of(&stat);
        Ok(Self { fd: Unshared::new(fd, id), id })
    }

    /// Any file that is open already.
    pub(super) fn from_fd(fd: OwnedFd) -> rustix::io::Result<Self> {
        let id = FileId::of(&fstat(&fd)?);
        Ok(Self { fd: Unshared::new(fd, id), id })
    }

    /// Tries to lock it; false when somebody else has the lock.
    pub(super) fn attempt(&self, kind: LockKind) -> rustix::io::Result<bool> {
        let operation = match kind {
            LockKind::Exclusive => FlockOperation::NonBlockingLockExclusive,
            LockKind::Shared => FlockOperation::NonBlockingLockShared,
        };
        match flock(&self.fd, operation) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Waits in the kernel's queue until it is locked.
    pub(super) fn wait(&self, kind: LockKind) -> rustix::io::Result<()> {
        let operation = match kind {
            LockKind::Exclusive => FlockOperation::LockExclusive,
            LockKind::Shared => FlockOperation::LockShared,
        };
        rustix::io::retry_on_intr(|| flock(&self.fd, operation))
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Unlocks and closes it.
    pub(super) fn free(self) {
        if self.fd.is_open() {
            unlock(&self.fd);
        }
    }

    /// Gives back permits, whose file this is.
    pub(super) fn end(self) {
        if self.fd.is_open() {
            super::peer::end(&self.fd);
        }
    }

    /// Whether the lock could be had now. A lock that was got is given back at once.
    pub(super) fn could_be_had(self, kind: LockKind) -> bool {
        let free = self.attempt(kind).is_ok_and(|free| free);
        if free {
            self.free();
        }
        free
    }

    /// Marks the file as used, for programs that delete old files.
    pub(super) fn touch(&self) {
        // It fails for a file of another user, of which only the lock is ours.
        let _ = futimens(&self.fd, &NOW);
    }

    /// When it was written or touched last.
    pub(super) fn last_used(&self) -> rustix::io::Result<SystemTime> {
        fstat(&self.fd).map(|stat| modified(&stat))
    }

    /// Another descriptor of the same open file.
    pub(super) fn duplicate(&self) -> std::io::Result<OwnedFd> {
        self.fd.as_fd().try_clone_to_owned()
    }
}

/// When a file that is not open was written or touched last; `None` where it is missing.
pub(super) fn last_used(path: &Path) -> Option<SystemTime> {
    lstat(path).ok().map(|stat| modified(&stat))
}

#[allow(clippy::unnecessary_cast, reason = "the types of the fields differ between systems")]
fn modified(stat: &Stat) -> SystemTime {
    let since = Duration::new(stat.st_mtime.max(0) as u64, stat.st_mtime_nsec as u32);
    SystemTime::UNIX_EPOCH + since
}

/// Marks a file that is not open as used.
pub(super) fn touch(path: &Path) {
    let _ = utimensat(CWD, path, &NOW, AtFlags::SYMLINK_NOFOLLOW);
}

const NOW: Timestamps = {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    Timestamps { last_access: now, last_modification: now }
};

/// Unlocks explicitly. Closing would not do: a child that was forked a moment ago, and has not called `exec` yet, has the
/// descriptor as well.
pub(super) fn unlock(fd: impl AsFd) {
    // It can only fail for a descriptor that is not one.
    let _ = flock(fd, FlockOperation::Unlock);
}

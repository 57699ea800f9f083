//! The kernel's lock on one file, and the descriptors that keep it.

use super::directory::Access;
use super::fault::{fault, foreign};
use crate::Result;
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, open, stat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Which file it is, whatever its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId {
    pub(super) dev: u64,
    pub(super) ino: u64,
}

impl FileId {
    pub(super) fn of(stat: &Stat) -> Self {
        Self { dev: stat.st_dev, ino: stat.st_ino }
    }

    /// Whether this file still stands at the path: if not, others lock another one.
    pub(super) fn is_at(self, path: &Path) -> bool {
        stat(path).is_ok_and(|s| Self::of(&s) == self)
    }
}

/// Neither waits for a writer when a pipe stands there, nor follows a link out of the directory.
const SAFE: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// A lock that nobody can be told the end of yet.
#[derive(Debug)]
pub(super) struct Caught {
    fd: OwnedFd,
    file: FileId,
}

impl Caught {
    /// One try; `None` when somebody has it. Through a read-only descriptor: closing one that was opened for writing
    /// would tell all who wait that the lock came free.
    pub(super) fn attempt(path: &Path, access: &Access) -> Result<Option<Self>> {
        Self::attempt_as(FlockOperation::NonBlockingLockExclusive, path, access)
    }

    /// The same, for one of several who read.
    pub(super) fn attempt_shared(path: &Path, access: &Access) -> Result<Option<Self>> {
        Self::attempt_as(FlockOperation::NonBlockingLockShared, path, access)
    }

    fn attempt_as(how: FlockOperation, path: &Path, access: &Access) -> Result<Option<Self>> {
        let flags = SAFE | OFlags::RDONLY | OFlags::CREATE;
        let fd = open(path, flags, access.file).map_err(|e| fault("opening", path, e))?;
        match flock(&fd, how) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(e) => return Err(fault("locking", path, e)),
        }
        let stat = fstat(&fd).map_err(|e| fault("looking at", path, e))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(foreign(path, "is not a regular file"));
        }
        access.open_up(&fd, &stat).map_err(|e| fault("opening to the group", path, e))?;
        Ok(Some(Self { fd, file: FileId::of(&stat) }))
    }

    pub(super) fn reader(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Adds the descriptor whose close tells that the lock is free. `None` when another file stands there by now.
    pub(super) fn bolt(self, path: &Path) -> Result<Option<Bolt>> {
        let event = match open(path, SAFE | OFlags::WRONLY, Mode::empty()) {
            Ok(event) => event,
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(fault("opening", path, e)),
        };
        let found = fstat(&event).map_err(|e| fault("looking at", path, e))?;
        if FileId::of(&found) != self.file {
            return Ok(None);
        }
        // When a process dies its descriptors go from the last number to the first, and the lock has to be free when
        // the event is raised.
        let above = event.as_raw_fd() + 1;
        let lock = if self.fd.as_raw_fd() >= above {
            self.fd
        } else {
            fcntl_dupfd_cloexec(&self.fd, above).map_err(|e| fault("keeping", path, e))?
        };
        Ok(Some(Bolt { lock, event, file: self.file }))
    }

    /// Gives it back, and wakes whoever has tried in vain meanwhile.
    pub(super) fn hand_back(self, path: &Path) {
        unlock(&self.fd);
        drop(self.fd);
        drop(open(path, SAFE | OFlags::WRONLY, Mode::empty()));
    }
}

/// A lock that is held. Dropped field by field: first the lock, then what tells its end.
#[derive(Debug)]
pub(super) struct Bolt {
    lock: OwnedFd,
    event: OwnedFd,
    pub(super) file: FileId,
}

impl Bolt {
    pub(super) fn reader(&self) -> BorrowedFd<'_> {
        self.lock.as_fd()
    }

    pub(super) fn writer(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    /// Turns it into a shared one. False when somebody got in between: then it is not held at all.
    pub(super) fn share(&self, path: &Path) -> Result<bool> {
        match flock(&self.lock, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(e) => Err(fault("sharing", path, e)),
        }
    }

    /// Both once more, numbered as these are.
    pub(super) fn duplicates(&self) -> std::io::Result<Vec<OwnedFd>> {
        Ok(vec![self.event.try_clone()?, self.lock.try_clone()?])
    }

    /// Frees the lock, then raises the event. Unlocked by word, not only by closing: a child that was forked a moment
    /// ago, and has not come to its `exec` yet, has the descriptor too.
    pub(super) fn open(self) {
        unlock(&self.lock);
    }
}

fn unlock(fd: &OwnedFd) {
    // It can only fail for a descriptor that is not one; closing frees it too.
    let _ = flock(fd, FlockOperation::Unlock);
}

//! A file that a process keeps locked for as long as it lives: a ticket, or permits. On Linux it is a named pipe, whose end
//! can be waited for.

use super::access::Access;
use super::errors::fault;
use super::lock::{SAFE, unlock};
use crate::Result;
use crate::sys::ticket;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Such a file of another process, open for reading.
#[derive(Debug)]
pub(super) struct Peer {
    file: OwnedFd,
    path: PathBuf,
}

impl Peer {
    /// Opens it; `None` when it is gone, or is something else.
    pub(super) fn open(directory: &Path, name: &str) -> Result<Option<Self>> {
        let path = directory.join(name);
        let file = match open(&path, SAFE | OFlags::RDONLY, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            // It gets its permissions before its final name, so this one is not finished.
            Err(Errno::ACCESS) if name.starts_with('.') => return Ok(None),
            Err(e) => return Err(fault("opening", &path, e)),
        };
        let stat = fstat(&file).map_err(|e| fault("looking at", &path, e))?;
        Ok(ticket::is_one(&stat).then_some(Self { file, path }))
    }

    /// Whether its owner lives: it keeps the file locked.
    pub(super) fn lives(&self) -> bool {
        let free = flock(&self.file, FlockOperation::NonBlockingLockShared).is_ok();
        if free {
            unlock(&self.file);
        }
        !free
    }

    /// Another descriptor of it, to wait for its end.
    pub(super) fn duplicate(&self) -> std::io::Result<OwnedFd> {
        self.file.try_clone()
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates and locks such a file of our own, under a name that does not count yet. `None` when another process removed it
/// meanwhile.
pub(super) fn make(path: &Path, access: &Access) -> rustix::io::Result<Option<OwnedFd>> {
    ticket::create(path, access.file)?;
    // For reading and writing: a pipe without a writer would have ended as soon as it is opened.
    let file = match open(path, SAFE | OFlags::RDWR, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(e) => return Err(e),
    };
    access.open_up(&file)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        // A process that cleans up may be looking at it.
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(e) => return Err(e),
    }
    ticket::shrink(&file);
    Ok(Some(file))
}

/// Ends our own file, whose path has gone already: unlocks it, and wakes those who wait for its end.
pub(super) fn end(file: impl AsFd) {
    // Explicitly: a child that was forked a moment ago has the descriptor as well, and keeps the pipe from ending until its
    // `exec`.
    unlock(&file);
    let _ = rustix::io::write(file, b"!");
}

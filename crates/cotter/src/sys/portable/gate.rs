//! A second lock that belongs to a lock file: `flock` on another file beside it. Deleting that file while a writer is
//! becoming a reader is not noticed.

use crate::sys::{FileId, Unshared};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat};
use rustix::io::{Errno, Result};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// The right to open a gate that this process has closed.
#[derive(Debug)]
pub(crate) struct Closed(Unshared);

/// Closes the gate of a lock file; `None` when it is closed already. `beside` opens the gate's own file.
pub(crate) fn close(
    _lock: BorrowedFd<'_>,
    beside: impl FnOnce() -> Result<OwnedFd>,
) -> Result<Option<Closed>> {
    let file = beside()?;
    let id = FileId::of(&fstat(&file)?);
    let file = Unshared::new(file, id);
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Closed(file))),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Opens the gate, even while a child that was forked a moment ago still has the descriptor.
pub(crate) fn open(_lock: BorrowedFd<'_>, closed: Closed) {
    let _ = flock(&closed.0, FlockOperation::Unlock);
}

/// Whether somebody has closed the gate. `beside` names the gate's own file.
pub(crate) fn is_closed(_lock: BorrowedFd<'_>, beside: impl FnOnce() -> PathBuf) -> Result<bool> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = match rustix::fs::open(beside(), flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(false),
        Err(e) => return Err(e),
    };
    // Shared, so that two who look at the same time do not take each other for somebody who closed it.
    let is_open = flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
    if is_open {
        let _ = flock(&file, FlockOperation::Unlock);
    }
    Ok(!is_open)
}

//! Which processes hold a lock. The systems have no common way to ask for that, so only the records in the lock files are
//! known, and trying the lock tells whether they can still be true.

use super::process;
use crate::sys::FileId;
use rustix::fs::{FlockOperation, flock};
use std::os::fd::AsFd;

/// A lock in the table of the kernel, which cannot be read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KernelLock {}

impl KernelLock {
    pub(crate) fn is_on(self, _file: FileId, _pid: u32) -> bool {
        match self {}
    }

    pub(crate) fn pid_on(self, _file: FileId) -> Option<u32> {
        match self {}
    }
}

/// A process that has a locked file open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockHolder {
    pub(crate) pid: u32,
    pub(crate) exclusive: bool,
}

/// Whether the file is locked. Trying that takes the lock for a moment where it is free; other processes that
/// try it at that moment try again, because no holder is recorded.
pub(crate) fn is_locked(file: impl AsFd) -> Option<bool> {
    let is_free = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    if is_free {
        let _ = flock(&file, FlockOperation::Unlock);
    }
    Some(!is_free)
}

pub(crate) fn flocked() -> Option<Vec<KernelLock>> {
    None
}

pub(crate) fn holders(_file: FileId) -> Vec<LockHolder> {
    Vec::new()
}

/// The process itself: what became of its descriptors is not known.
pub(crate) fn heir(_file: FileId, pid: u32) -> u32 {
    pid
}

pub(crate) fn has(_pid: u32, _file: FileId) -> Option<bool> {
    None
}

/// Whether the holder that a file names is there.
pub(crate) fn is_likely(pid: u32, _file: FileId, _locks: Option<&[KernelLock]>) -> bool {
    process::is_there(pid)
}

//! The gate: of those who share a lock file, one at a time changes its content.

use super::errors::fault;
use super::paths::LockPaths;
use crate::Result;
use crate::sys::gate::{self, Closed};
use rustix::fs::OFlags;
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::Duration;

/// A process inside reads and writes a few hundred bytes. One that finds the gate closed tries this often without a pause,
/// and then this often with one: only a process that was stopped inside takes longer.
const SPINS: usize = 20;
const NAPS: usize = 50;
const NAP: Duration = Duration::from_micros(100);

/// The time inside the gate; dropped, it opens.
#[derive(Debug)]
pub(super) struct Inside<'a> {
    lock: BorrowedFd<'a>,
    closed: Option<Closed>,
}

/// Closes the gate behind the caller, waiting for a moment where it has to. `None` when somebody stays inside for longer
/// than anybody should.
pub(super) fn enter<'a>(lock: BorrowedFd<'a>, paths: &LockPaths) -> Result<Option<Inside<'a>>> {
    for round in 0..SPINS + NAPS {
        if let Some(closed) = close(lock, paths)? {
            return Ok(Some(Inside { lock, closed: Some(closed) }));
        }
        if round < SPINS { thread::yield_now() } else { thread::sleep(NAP) }
    }
    Ok(None)
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.closed.take().into_iter().for_each(|closed| gate::open(self.lock, closed));
    }
}

/// Closes it; `None` when somebody else is inside.
pub(super) fn close(lock: BorrowedFd<'_>, paths: &LockPaths) -> Result<Option<Closed>> {
    let beside = || paths.queue.access.open(&paths.gate(), super::lock::SAFE | OFlags::RDWR);
    gate::close(lock, beside).map_err(|e| fault("closing the gate of", &paths.lock, e))
}

/// Whether somebody else is inside.
pub(super) fn is_closed(lock: BorrowedFd<'_>, paths: &LockPaths) -> Result<bool> {
    gate::is_closed(lock, || paths.gate()).map_err(|e| fault("looking at the gate of", &paths.lock, e))
}

#[cfg(test)]
mod tests {
    use super::super::directory::{Directory, Where};
    use super::*;
    use crate::Name;
    use rustix::fs::FlockOperation;
    use std::fs::File;
    use std::os::fd::AsFd;

    #[test]
    fn one_at_a_time_and_apart_from_the_lock() {
        let place = tempfile::tempdir().unwrap();
        let directory =
            Directory::open(&Where::At(place.path().join("locks")), None, crate::sys::filesystem::of)
                .unwrap();
        let paths = LockPaths::of(&directory, &Name::new("a").unwrap());
        std::fs::write(&paths.lock, "").unwrap();
        let file = || File::options().write(true).open(&paths.lock).unwrap();
        let (one, other, reader) = (file(), file(), File::open(&paths.lock).unwrap());
        rustix::fs::flock(&reader, FlockOperation::NonBlockingLockExclusive).unwrap();
        let inside = enter(one.as_fd(), &paths).unwrap().expect("nobody is inside");
        assert!(is_closed(reader.as_fd(), &paths).unwrap());
        assert!(enter(other.as_fd(), &paths).unwrap().is_none());
        drop(inside);
        assert!(!is_closed(reader.as_fd(), &paths).unwrap());
        let closed = close(other.as_fd(), &paths).unwrap().expect("nobody is inside");
        drop((closed, other));
        assert!(close(one.as_fd(), &paths).unwrap().is_some(), "it ends with its descriptor");
    }
}

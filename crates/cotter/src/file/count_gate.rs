//! The gate: of those who share a lock file, one at a time changes what stands in it.
//!
//! It is a lock on the first byte of the lock file, of another kind (`fcntl`, by open file description) than the lock
//! itself (`flock`). The kernel keeps the two apart, and because both are on one file nobody can take away one and
//! leave the other. It belongs to the descriptor that tells the end of the lock and ends with it at the latest.

use super::errors::fault;
use crate::Result;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Whoever is inside reads and writes a few hundred bytes. Who finds it closed looks this often without a pause, and
/// then this often with one: only a process that was stopped inside takes longer.
const SPINS: usize = 20;
const NAPS: usize = 50;
const NAP: Duration = Duration::from_micros(100);

/// Inside the gate, until it is dropped.
#[derive(Debug)]
pub(super) struct Gate<'a>(BorrowedFd<'a>);

impl<'a> Gate<'a> {
    /// `None` when somebody stays inside for longer than anybody should.
    pub(super) fn enter(file: BorrowedFd<'a>, path: &Path) -> Result<Option<Self>> {
        for round in 0..SPINS + NAPS {
            if close(file, path)? {
                return Ok(Some(Self(file)));
            }
            if round < SPINS { thread::yield_now() } else { thread::sleep(NAP) }
        }
        Ok(None)
    }
}

impl Drop for Gate<'_> {
    fn drop(&mut self) {
        open(self.0);
    }
}

/// Closes it behind us; false when somebody else is inside.
pub(super) fn close(file: BorrowedFd<'_>, path: &Path) -> Result<bool> {
    match fcntl(file, FcntlArg::F_OFD_SETLK(&byte(libc::F_WRLCK))) {
        Ok(_) => Ok(true),
        Err(nix::Error::EAGAIN | nix::Error::EACCES) => Ok(false),
        Err(e) => Err(fault("closing the gate of", path, errno(e))),
    }
}

/// Opens it. By word, not only by closing the descriptor: a child that was forked a moment ago has that too.
pub(super) fn open(file: BorrowedFd<'_>) {
    // It can only fail for a descriptor that is not one.
    let _ = fcntl(file, FcntlArg::F_OFD_SETLK(&byte(libc::F_UNLCK)));
}

/// Whether somebody else is inside.
pub(super) fn is_closed(file: BorrowedFd<'_>, path: &Path) -> Result<bool> {
    let mut found = byte(libc::F_WRLCK);
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut found))
        .map_err(|e| fault("looking at the gate of", path, errno(e)))?;
    Ok(i32::from(found.l_type) != libc::F_UNLCK)
}

/// The first byte, to be locked or unlocked.
fn byte(how: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: how as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 1,
        l_pid: 0,
    }
}

fn errno(e: nix::Error) -> Errno {
    Errno::from_raw_os_error(e as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::FlockOperation;
    use std::fs::File;
    use std::os::fd::AsFd;

    #[test]
    fn one_at_a_time_and_apart_from_the_lock() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let open = || File::options().write(true).open(&path).unwrap();
        let (one, other, reader) = (open(), open(), File::open(&path).unwrap());
        rustix::fs::flock(&reader, FlockOperation::NonBlockingLockExclusive).unwrap();
        let inside = Gate::enter(one.as_fd(), &path).unwrap().expect("nobody is inside");
        assert!(is_closed(reader.as_fd(), &path).unwrap() && !is_closed(one.as_fd(), &path).unwrap());
        assert!(Gate::enter(other.as_fd(), &path).unwrap().is_none());
        drop(inside);
        assert!(!is_closed(reader.as_fd(), &path).unwrap());
        assert!(close(other.as_fd(), &path).unwrap());
        drop(other);
        assert!(close(one.as_fd(), &path).unwrap(), "it ends with its descriptor");
    }
}

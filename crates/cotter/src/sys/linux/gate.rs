//! A second lock that belongs to a lock file: an open-file-description lock on its first byte. The kernel keeps it apart
//! from `flock`, and because both are on one file nobody can take away one and leave the other.

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use rustix::io::{Errno, Result};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// The right to open a gate that this process has closed.
#[derive(Debug)]
pub(crate) struct Closed;

/// Closes the gate of an open lock file; `None` when it is closed already. `_beside` opens the gate's own file, where it
/// has one.
pub(crate) fn close(
    lock: BorrowedFd<'_>,
    _beside: impl FnOnce() -> Result<OwnedFd>,
) -> Result<Option<Closed>> {
    match fcntl(lock, FcntlArg::F_OFD_SETLK(&first_byte(libc::F_WRLCK))) {
        Ok(_) => Ok(Some(Closed)),
        Err(nix::Error::EAGAIN | nix::Error::EACCES) => Ok(None),
        Err(e) => Err(errno(e)),
    }
}

/// Opens the gate. It also opens when the lock file is closed, but not while a child that was forked a moment ago still
/// has the descriptor.
pub(crate) fn open(lock: BorrowedFd<'_>, _closed: Closed) {
    // It can only fail for a descriptor that is not one.
    let _ = fcntl(lock, FcntlArg::F_OFD_SETLK(&first_byte(libc::F_UNLCK)));
}

/// Whether somebody else has closed the gate. `_beside` names the gate's own file, where it has one.
pub(crate) fn is_closed(lock: BorrowedFd<'_>, _beside: impl FnOnce() -> PathBuf) -> Result<bool> {
    let mut found = first_byte(libc::F_WRLCK);
    fcntl(lock, FcntlArg::F_OFD_GETLK(&mut found)).map_err(errno)?;
    Ok(i32::from(found.l_type) != libc::F_UNLCK)
}

/// The first byte, to be locked or unlocked.
fn first_byte(kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 1,
        l_pid: 0,
    }
}

fn errno(e: nix::Error) -> Errno {
    Errno::from_raw_os_error(e as i32)
}

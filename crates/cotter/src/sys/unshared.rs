//! Descriptors whose locks must not outlive their process.
//!
//! The kernel's lock belongs to the open file, and a forked child shares that: as long as it keeps the descriptor, the lock of a
//! parent that has ended stays taken. `exec` closes the descriptor. A child that goes on without `exec` closes with its first
//! call what its parent had open; it does not unlock it, because the parent may live.

use super::{FileId, Identity};
use crate::sync::lock;
use rustix::fs::stat;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which file has each number, and zero for others than these. There is no lock around them that a fork could find taken.
/// Larger numbers are not remembered.
static FILES: [AtomicU64; 1 << 16] = [const { AtomicU64::new(0) }; 1 << 16];

/// The process whose files those are; zero before anybody has asked.
static OWNER: AtomicU64 = AtomicU64::new(0);

/// An open file that a fork of this process closes.
#[derive(Debug)]
pub(crate) struct Unshared {
    fd: Option<OwnedFd>,
    owner: u64,
}

impl Unshared {
    /// A fork between the opening of the file and this call keeps the descriptor.
    pub(crate) fn new(fd: OwnedFd, file: FileId) -> Self {
        remember(fd.as_raw_fd(), mark(file));
        Self { fd: Some(fd), owner: OWNER.load(Ordering::Acquire) }
    }

    /// False in a fork that has closed it: its number may be that of another file.
    pub(crate) fn is_open(&self) -> bool {
        self.owner == OWNER.load(Ordering::Acquire)
    }
}

impl AsFd for Unshared {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_ref().expect("open until it is dropped").as_fd()
    }
}

impl Drop for Unshared {
    fn drop(&mut self) {
        let Some(fd) = self.fd.take() else { return };
        if self.is_open() {
            remember(fd.as_raw_fd(), 0);
        } else {
            let _ = fd.into_raw_fd();
        }
    }
}

fn remember(number: RawFd, mark: u64) {
    if let Some(file) = FILES.get(number as usize) {
        file.store(mark, Ordering::Release);
    }
}

/// Tells a file from others; never zero.
fn mark(file: FileId) -> u64 {
    (file.ino ^ file.dev.rotate_left(40)).max(1)
}

/// In a fork, closes what its parent had open. To be called before this process opens such files itself.
pub(crate) fn leave_to_parent() {
    static SETTLED: AtomicU64 = AtomicU64::new(0);
    static SETTLING: Mutex<()> = Mutex::new(());
    let own = Identity::own().number();
    if SETTLED.load(Ordering::Acquire) == own {
        return;
    }
    let _alone = lock(&SETTLING);
    if SETTLED.load(Ordering::Acquire) == own {
        return;
    }
    // What is dropped from now on does not close the number a second time.
    if OWNER.swap(own, Ordering::AcqRel) != 0 {
        close_all();
    }
    SETTLED.store(own, Ordering::Release);
}

fn close_all() {
    for (number, file) in FILES.iter().enumerate() {
        let was = file.swap(0, Ordering::AcqRel);
        // A child that closes all that it inherits may have opened another file since.
        let is_there =
            || stat(format!("/dev/fd/{number}")).is_ok_and(|found| mark(FileId::of(&found)) == was);
        if was != 0 && is_there() {
            // Its owner is in the memory of a thread that this process does not have, or lets go of it: see `drop`.
            let _ = nix::unistd::close(number as RawFd);
        }
    }
}

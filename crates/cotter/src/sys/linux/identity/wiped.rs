//! A number that a fork finds to be zero: it lies in a page that the kernel empties in each child (`MADV_WIPEONFORK`, Linux 4.14).
//! Libraries for encryption know a fork by the same means. Looking costs a load, where any question to the kernel costs 0.1 to
//! 1 µs, several times for each lock.
//!
//! This is the only file with unsafe code: no safe interface to the advice is known. What it relies on: an emulator that
//! accepts the advice also follows it.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Enough for the number; the kernel rounds it up to a page.
const LENGTH: usize = size_of::<AtomicU64>();

/// The number of this process; `None` if the kernel gave no such page. No lock guards the first call: a fork could find it taken.
pub(super) fn number() -> Option<&'static AtomicU64> {
    static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());
    let page = match PAGE.load(Ordering::Acquire) {
        page if page.is_null() => first(&PAGE),
        page => page,
    };
    // SAFETY: other than `refused`, it comes from `map`: aligned, zeroed, never unmapped, and used as nothing but this atomic.
    (page != refused()).then(|| unsafe { &*page })
}

/// Stands for no page. A fork inherits this answer as well, so that a process never changes its mind.
fn refused() -> *mut AtomicU64 {
    without_provenance_mut(usize::MAX)
}

#[cold]
fn first(page: &AtomicPtr<AtomicU64>) -> *mut AtomicU64 {
    let own = map().unwrap_or_else(refused);
    let Err(others) = page.compare_exchange(null_mut(), own, Ordering::AcqRel, Ordering::Acquire) else {
        return own;
    };
    if own != refused() {
        // SAFETY: mapped above, and nobody else has seen it.
        let _ = unsafe { munmap(own.cast(), LENGTH) };
    }
    others
}

fn map() -> Option<*mut AtomicU64> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the kernel picks an address that nobody uses.
    let page = unsafe { mmap_anonymous(null_mut(), LENGTH, access, MapFlags::PRIVATE) }.ok()?;
    // SAFETY: the page is ours, and the advice changes nothing in this process.
    if unsafe { madvise(page, LENGTH, Advice::LinuxWipeOnFork) }.is_ok() {
        return Some(page.cast());
    }
    // SAFETY: mapped above, and nobody else has seen it.
    let _ = unsafe { munmap(page, LENGTH) };
    None
}

//! Which process this is: a fork has a copy of all that its parent knew, and is another one.
//!
//! A number in a page that the kernel empties in each fork tells; see `wiped`.
//!
//! Where there is no such page, `/proc/self` does, which takes up to 1 µs. The process number does not tell: in a pid namespace of
//! its own, the child of a process 1 is process 1 as well. But each `/proc` belongs to one namespace, and shows the processes
//! of those below it, too, by the numbers that they have in this one. So the link `/proc/self` leads elsewhere for each of
//! the processes that are there at the same time. Its descriptor is the link itself, through which no file can be reached. What
//! it does not tell is a number that came round again in a descendant, after its ancestor had ended.

#[allow(unsafe_code, reason = "no safe interface to a page that forks find empty is known")]
mod wiped;

use rustix::fs::{Mode, OFlags, open, readlinkat_raw};
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A process, as far as its forks have to be told from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity(u64);

/// Distinguishes numbers from elsewhere than `/proc/self`.
const OTHERWISE: u64 = 1 << 32;

impl Identity {
    /// That of this process. Cheap enough for every operation.
    pub(crate) fn own() -> Self {
        Self(wiped::number().map_or_else(without_page, counted))
    }

    /// For an atomic variable; never zero.
    #[cfg(feature = "file")]
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// Another process, for tests without a fork.
    #[cfg(test)]
    pub(crate) fn other(self) -> Self {
        Self(self.0 + 1)
    }
}

/// How many processes there were from the first one that asked to this one, itself included.
fn counted(number: &AtomicU64) -> u64 {
    match number.load(Ordering::Acquire) {
        0 => count(number),
        known => known,
    }
}

/// A fork has a copy of the counter, which no ancestor of it has overtaken. Numbers of siblings may be equal: neither knows
/// anything of the other.
#[cold]
fn count(number: &AtomicU64) -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let next = LAST.fetch_add(1, Ordering::AcqRel) + 1;
    number.compare_exchange(0, next, Ordering::AcqRel, Ordering::Acquire).map_or_else(|known| known, |_| next)
}

fn without_page() -> u64 {
    linked().unwrap_or_else(|| OTHERWISE | u64::from(std::process::id()))
}

/// Where `/proc/self` leads; `None` without `/proc`, or if somebody has closed the descriptor.
fn linked() -> Option<u64> {
    static LINK: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let link = LINK.get_or_init(|| open("/proc/self", flags, Mode::empty()).ok()).as_ref()?;
    let mut digits = [0_u8; 16];
    let length = readlinkat_raw(link, c"", &mut digits).ok()?;
    std::str::from_utf8(&digits[..length]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_that_of_the_process_in_all_threads() {
        let here = Identity::own();
        assert_eq!(here, Identity::own());
        assert_eq!(here, std::thread::spawn(Identity::own).join().unwrap());
        assert_ne!(here, here.other());
        assert!(wiped::number().is_some(), "not by a fallback");
    }

    #[test]
    fn without_a_page_it_is_where_the_link_leads() {
        let link = std::fs::read_link("/proc/self").unwrap();
        assert_eq!(without_page().to_string(), link.to_str().unwrap());
    }

    #[test]
    fn an_emptied_page_is_another_process() {
        let page = AtomicU64::new(0);
        let parent = counted(&page);
        assert_eq!(parent, counted(&page));
        page.store(0, Ordering::Release);
        assert_ne!(parent, counted(&page));
    }
}

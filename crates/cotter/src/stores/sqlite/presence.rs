//! That this process has connections, for its forks.
//!
//! SQLite keeps a table of the file locks that its process has. A fork inherits the table and none of the locks: what it opens
//! is not locked, so another process believes to be the last one, deletes the log, and both go on with a log of their own. And
//! a lock inside of SQLite that another thread had at the fork is never given back. The fork cannot undo that, not even by a
//! connection of its own, so it gets none.

use super::errors;
use crate::Result;
use crate::sys::Identity;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The open connections. There is no lock around them that a fork could find taken.
static CONNECTIONS: AtomicUsize = AtomicUsize::new(0);
/// The process that has opened them.
static PROCESS: AtomicU64 = AtomicU64::new(0);

/// From before the database is opened until after it is closed.
#[derive(Debug)]
pub(super) struct Presence(());

impl Presence {
    /// Fails in a fork of a process that had connections when it was forked.
    pub(super) fn begin() -> Result<Self> {
        let own = Identity::own().number();
        if CONNECTIONS.load(Ordering::Acquire) > 0 && PROCESS.load(Ordering::Acquire) != own {
            return Err(errors::forked());
        }
        PROCESS.store(own, Ordering::Release);
        CONNECTIONS.fetch_add(1, Ordering::AcqRel);
        Ok(Self(()))
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        CONNECTIONS.fetch_sub(1, Ordering::AcqRel);
    }
}

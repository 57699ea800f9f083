//! Whether the caller of a job still waits for it, and whether the job may have changed something.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Nothing was changed yet.
const OPEN: u8 = 0;
/// A statement that changes something was sent, or is about to be.
const WRITING: u8 = 1;
/// The caller has gone: no further statement is sent.
const ABANDONED: u8 = 2;

/// The state that a job and its caller share. The first one decides: a job whose caller goes before its first write
/// changes nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Fate(Arc<AtomicU8>);

impl Fate {
    pub(super) fn is_abandoned(&self) -> bool {
        self.0.load(Ordering::Acquire) == ABANDONED
    }

    /// Called before a statement that changes something. False: the caller has gone, and the statement must not be sent.
    pub(super) fn begin_write(&self) -> bool {
        let begun = self.0.compare_exchange(OPEN, WRITING, Ordering::AcqRel, Ordering::Acquire);
        begun.is_ok() || begun == Err(WRITING)
    }

    /// Called when a statement has changed nothing.
    pub(super) fn wrote_nothing(&self) {
        let _ = self.0.compare_exchange(WRITING, OPEN, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether the last of its statements has changed something, of a job that has ended.
    pub(super) fn has_written(&self) -> bool {
        self.0.load(Ordering::Acquire) == WRITING
    }

    /// The caller does not wait any longer. True: the job may have changed something.
    pub(super) fn abandon(&self) -> bool {
        self.0.swap(ABANDONED, Ordering::AcqRel) == WRITING
    }
}

/// The caller's side. Dropping it abandons the job.
#[derive(Debug, Default)]
pub(super) struct Caller(Fate);

impl Caller {
    pub(super) fn fate(&self) -> &Fate {
        &self.0
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_comes_first_decides() {
        let caller = Caller::default();
        let fate = caller.fate().clone();
        assert!(fate.begin_write() && fate.begin_write() && fate.has_written());
        fate.wrote_nothing();
        assert!(!fate.has_written());
        drop(caller);
        assert!(fate.is_abandoned() && !fate.begin_write());
        let fate = Fate::default();
        assert!(fate.begin_write() && fate.abandon(), "it may have been changed");
        assert!(!fate.begin_write() && !Fate::default().abandon());
    }
}

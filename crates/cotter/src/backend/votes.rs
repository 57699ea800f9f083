//! How many members of a quorum stand by a grant.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of members of a quorum that have confirmed a grant: when it was acquired, and since then at each renewal.
/// Clones share it.
///
/// A grant that a bare majority has confirmed does not survive the loss of any of those members.
#[derive(Debug, Clone)]
pub struct Votes {
    given: Arc<AtomicUsize>,
    of: usize,
}

impl Votes {
    /// Creates the votes of `given` members out of `of`.
    pub fn new(given: usize, of: usize) -> Self {
        Self { given: Arc::new(AtomicUsize::new(given)), of }
    }

    /// Replaces the number of members, after a renewal.
    pub fn set(&self, given: usize) {
        self.given.store(given, Ordering::Release);
    }

    /// Returns the number of members that have confirmed the grant, as of the last answer.
    pub fn given(&self) -> usize {
        self.given.load(Ordering::Acquire)
    }

    /// Returns the number of all members of the quorum.
    pub fn of(&self) -> usize {
        self.of
    }
}

impl fmt::Display for Votes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.given(), self.of)
    }
}

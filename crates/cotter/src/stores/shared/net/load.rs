//! How many requests wait for their answers.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of requests that wait for their answers on a connection.
#[derive(Debug, Default)]
pub(crate) struct Load(AtomicUsize);

/// A request that is counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Pending<'a>(&'a Load);

impl Load {
    /// Counts a request.
    pub(crate) fn enter(&self) -> Pending<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Pending(self)
    }

    /// Whether a request would have to wait for others.
    pub(crate) fn is_busy(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

//! Repeating work that may be done twice: requests that the store fails to answer, and writes that others have overtaken.

use crate::backend::Backoff;
use crate::engine::core::Core;
use crate::engine::timing::{acquire_backoff, swap_backoff};
use crate::{Error, Moment, Result};

/// How long the store has failed to answer, and the pauses between requests.
#[derive(Debug)]
pub(crate) struct Patience {
    failing_since: Option<Moment>,
    after_failure: Backoff,
    after_conflict: Backoff,
}

impl Patience {
    pub(crate) fn new() -> Self {
        Self { failing_since: None, after_failure: acquire_backoff(), after_conflict: swap_backoff() }
    }

    /// The store has answered.
    pub(crate) fn answered(&mut self) {
        if self.failing_since.take().is_some() {
            self.after_failure.reset();
        }
    }

    /// Pauses after a compare-and-set that another writer has overtaken.
    pub(crate) async fn overtaken(&mut self, core: &Core) {
        self.answered();
        core.clock().sleep_until(core.now() + self.after_conflict.pause()).await;
    }

    /// Pauses after a failed request, not beyond `end`.
    ///
    /// # Errors
    /// The error itself if repeating the request cannot help, if the store has not answered for as long as the client
    /// tolerates that, or at the end.
    pub(crate) async fn failed(&mut self, core: &Core, error: Error, end: Option<Moment>) -> Result<()> {
        let now = core.now();
        let since = *self.failing_since.get_or_insert(now);
        let over = now.since(since) >= core.settings.give_up || end.is_some_and(|end| now >= end);
        if !error.is_retryable() || over || core.is_closed() {
            return Err(error);
        }
        let next = now + self.after_failure.pause();
        core.clock().sleep_until(end.map_or(next, |end| next.min(end))).await;
        Ok(())
    }
}

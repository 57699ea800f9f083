//! A task that waits for the end of a key, and the news it has had.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use tokio::sync::Notify;

/// Woken by watches.
#[derive(Debug, Default)]
pub(super) struct Waiter {
    woken: Arc<Notify>,
    /// The newest revision of which a watch has told; 0 for none.
    told: AtomicI64,
    is_called: AtomicBool,
}

impl Waiter {
    /// Wakes it: a watch has told of this revision.
    pub(super) fn tell(&self, revision: i64) {
        self.told.fetch_max(revision, Ordering::AcqRel);
        self.woken.notify_one();
    }

    /// Wakes it: something may have been missed.
    pub(super) fn interrupted(&self) {
        self.told.store(0, Ordering::Release);
        self.woken.notify_one();
    }

    /// The newest revision of which it was told since the last call. `None` if there is none, or something may have been
    /// missed since then.
    pub(super) fn take_told(&self) -> Option<i64> {
        Some(self.told.swap(0, Ordering::AcqRel)).filter(|revision| *revision > 0)
    }

    /// Completes when it is woken, and keeps that in mind: somebody may wait for something else as well.
    pub(super) async fn called(self: Arc<Self>) {
        self.woken.notified().await;
        self.is_called.store(true, Ordering::Release);
    }

    /// Whether it was woken since the last call.
    pub(super) fn take_call(&self) -> bool {
        self.is_called.swap(false, Ordering::AcqRel)
    }

    /// Notified when it is woken.
    pub(super) fn woken(&self) -> &Arc<Notify> {
        &self.woken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_counts_once_and_the_newest_counts() {
        let waiter = Waiter::default();
        assert_eq!(waiter.take_told(), None);
        waiter.tell(7);
        waiter.tell(5);
        assert_eq!(waiter.take_told(), Some(7));
        assert_eq!(waiter.take_told(), None);
    }

    #[test]
    fn after_an_interruption_nothing_counts_that_was_told_before() {
        let waiter = Waiter::default();
        waiter.tell(7);
        waiter.interrupted();
        assert_eq!(waiter.take_told(), None);
        waiter.tell(8);
        assert_eq!(waiter.take_told(), Some(8));
    }
}

//! Background work, which outlives its callers and for which only `close` waits.

use crate::engine::core::Core;
use crate::engine::timing::{BACKGROUND_LOOK, MAX_UNSETTLED};
use crate::{Clock, Moment};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::Notify;

/// The background work of one client.
#[derive(Debug, Default)]
pub(crate) struct Background {
    running: AtomicUsize,
    /// Claims that are still to be undone.
    unsettled: AtomicUsize,
    done: Notify,
    hurry: Notify,
    closed: AtomicBool,
    closing: Notify,
    /// The grace of the close is over: what is still held then is lost.
    ended: AtomicBool,
}

/// Counts one piece of work for as long as it lives, however it ends.
pub(crate) struct Running(Arc<Background>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
        // Only `close` waits for it.
        if self.0.is_closed() {
            self.0.done.notify_waiters();
        }
    }
}

/// Counts one claim that is still to be undone.
pub(crate) struct Unsettled(Arc<Background>);

impl Drop for Unsettled {
    fn drop(&mut self) {
        self.0.unsettled.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Background {
    /// Counts a claim that is to be undone until the returned value is dropped.
    pub(crate) fn unsettled(self: &Arc<Self>) -> Unsettled {
        self.unsettled.fetch_add(1, Ordering::Relaxed);
        Unsettled(self.clone())
    }

    /// Returns true if so many claims are to be undone that no more should be added.
    pub(crate) fn is_full(&self) -> bool {
        self.number_of_unsettled() >= MAX_UNSETTLED
    }

    pub(crate) fn number_of_unsettled(&self) -> usize {
        self.unsettled.load(Ordering::Relaxed)
    }

    /// Counts work that `close` waits for until the returned value is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> Running {
        self.running.fetch_add(1, Ordering::AcqRel);
        Running(self.clone())
    }

    /// Makes clean-up that is waiting for its next try run it now.
    pub(crate) fn hurry(&self) {
        self.hurry.notify_waiters();
    }

    /// Completes with the next [`hurry`](Self::hurry).
    pub(crate) async fn hurried(&self) {
        self.hurry.notified().await;
    }

    /// Closes the client. Returns false if it was closed before.
    pub(crate) fn close(&self) -> bool {
        let is_first = !self.closed.swap(true, Ordering::AcqRel);
        if is_first {
            self.closing.notify_waiters();
        }
        is_first
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Ends the grace of the close.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
    }

    /// Returns true if a hold that begins now is lost at once.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Completes when the client is closed.
    pub(crate) async fn closing(&self) {
        let closing = self.closing.notified();
        if !self.is_closed() {
            closing.await;
        }
    }

    /// Waits until all work is done. Returns false if some is left at `end`.
    pub(crate) async fn idle_by(&self, clock: &Arc<dyn Clock>, end: Moment) -> bool {
        loop {
            let done = self.done.notified();
            if self.running.load(Ordering::Acquire) == 0 {
                return true;
            }
            if clock.now() >= end {
                return false;
            }
            // The count is decremented by a task that may be dropped with its runtime, so check periodically.
            let step = end.min(clock.now() + BACKGROUND_LOOK);
            tokio::select! {
                biased;
                () = done => {}
                () = clock.sleep_until(step) => {}
            }
        }
    }
}

/// Runs the work on the engine.
pub(crate) fn in_background(core: &Arc<Core>, work: impl Future<Output = ()> + Send + 'static) {
    let running = core.background.enter();
    core.engine.spawn(async move {
        work.await;
        drop(running);
    });
}

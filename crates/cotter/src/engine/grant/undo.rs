//! Unknown outcomes, undone in the background until they are settled.

use crate::backend::{Acquired, Backend, Claim, Leave, Release};
use crate::engine::core::Core;
use crate::engine::report::Doing;
use crate::engine::route::Carrier;
use crate::engine::timing::{ABANDONED_REQUEST, BACKGROUND_LOOK, UNDO_PAUSES};
use crate::{Clock, Moment, Result};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::Notify;

/// Background work; only `close` waits for it.
#[derive(Debug, Default)]
pub(crate) struct Background {
    running: AtomicUsize,
    done: Notify,
    hurry: Notify,
}

/// Counts one piece of work for as long as it lives, however it ends.
struct Running(Arc<Core>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.background.running.fetch_sub(1, Ordering::AcqRel);
        self.0.background.done.notify_waiters();
    }
}

impl Background {
    /// Makes clean-up that is waiting for its next try run it now.
    pub(crate) fn hurry(&self) {
        self.hurry.notify_waiters();
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
    core.background.running.fetch_add(1, Ordering::AcqRel);
    let running = Running(core.clone());
    core.engine.spawn(async move {
        work.await;
        drop(running);
    });
}

/// Drives an attempt whose caller is gone to its answer, and undoes it.
pub(crate) fn abandon<F>(core: &Arc<Core>, claim: Claim, carrier: Carrier, answering: F)
where
    F: Future<Output = Result<Acquired>> + Send + 'static,
{
    let engine = core.clone();
    in_background(core, async move {
        let answer = in_time(&engine, answering).await;
        let mut open = Open::new(&engine, &claim, false);
        match answer {
            Some(Ok(Acquired::Busy)) => return,
            Some(Err(e)) if !e.outcome_unknown() => return,
            Some(Ok(Acquired::Unsettled { until })) => open.until = until,
            Some(Ok(Acquired::Granted(_) | Acquired::Queued)) => {}
            Some(Err(_)) | None => open.unknown = true,
        }
        settle(&engine, &claim, &carrier, &mut open).await;
    });
}

/// Undoes a claim. `unknown`: one of its requests may still be in flight.
pub(crate) fn undo(core: &Arc<Core>, claim: Claim, carrier: &Carrier, unknown: bool) {
    let (engine, carrier) = (core.clone(), carrier.clone());
    in_background(core, async move {
        let mut open = Open::new(&engine, &claim, unknown);
        settle(&engine, &claim, &carrier, &mut open).await;
    });
}

/// Undoes a claim of which a request may arrive until that moment.
pub(crate) fn undo_until(core: &Arc<Core>, claim: Claim, until: Moment) {
    let engine = core.clone();
    in_background(core, async move {
        let mut open = Open { until, ..Open::new(&engine, &claim, false) };
        repeat(&engine, &claim, &mut open).await;
    });
}

/// The unsettled state of a claim.
struct Open {
    /// A request may still be in flight, for an unknown time.
    unknown: bool,
    /// The moment until which, according to the store, a request may still arrive.
    until: Moment,
    /// The moment by which anything granted to the claim has expired.
    lease_end: Moment,
    /// The time when the last release was sent.
    sent: Moment,
}

impl Open {
    fn new(core: &Core, claim: &Claim, unknown: bool) -> Self {
        let now = core.now();
        Self { unknown, until: Moment::ZERO, lease_end: now + claim.ttl.max(UNDO_PAUSES[0]), sent: now }
    }

    /// Returns when to release again; `None` when it is no longer useful. If the store has reported until when a
    /// request may arrive, a release is sent after that moment, however long the lease.
    fn next(&self, now: Moment, pause: Option<Duration>) -> Option<Moment> {
        match pause.map(|pause| now + pause) {
            Some(at) if at <= self.lease_end => Some(at),
            _ => (self.until > self.sent).then(|| self.until.max(now)),
        }
    }
}

/// Releases first on the connection that carried the claim, behind its request; then on the engine's, in case that one
/// is gone.
async fn settle(core: &Arc<Core>, claim: &Claim, carrier: &Carrier, open: &mut Open) {
    if !is_settled(core, carrier.get().unwrap_or(&core.backend), claim, open).await {
        repeat(core, claim, open).await;
    }
}

async fn repeat(core: &Arc<Core>, claim: &Claim, open: &mut Open) {
    let clock = core.clock();
    let mut closing = false;
    for pause in UNDO_PAUSES.into_iter().map(Some).chain(std::iter::repeat(None)) {
        let Some(at) = open.next(clock.now(), pause) else { return };
        // Once per pause: the answers to hurried releases must not trigger one another.
        let mut hurried = false;
        loop {
            tokio::select! {
                biased;
                () = clock.sleep_until(at) => break,
                // Additional to the scheduled releases: a request that lands late is undone by those still to come.
                () = core.background.hurry.notified(), if !hurried => hurried = true,
                () = core.closing(), if !closing => closing = true,
            }
            if is_settled(core, &core.backend, claim, open).await {
                return;
            }
        }
        if is_settled(core, &core.backend, claim, open).await {
            return;
        }
    }
}

/// Releases once. Returns true when nothing is left to do.
async fn is_settled(core: &Arc<Core>, on: &Arc<dyn Backend>, claim: &Claim, open: &mut Open) -> bool {
    open.sent = core.now();
    let failed = match in_time(core, on.release(claim, Leave::default())).await {
        Some(Ok(release)) => {
            core.hear();
            // A client that is being closed sends no more: its connections end, and with them the requests in flight.
            if core.is_closed() {
                return true;
            }
            return match release {
                Release::Freed => true,
                Release::NotHeld | Release::Evicted => !open.unknown && open.until <= open.sent,
                Release::Unsettled { until, .. } => {
                    open.until = open.until.max(until);
                    false
                }
            };
        }
        Some(Err(e)) => e,
        None => core.silence(),
    };
    open.unknown = true;
    core.failed(Doing::Undoing, &claim.name, &failed);
    false
}

/// Returns `None` if the request takes so long that its driver must be dead.
pub(crate) async fn in_time<F: Future>(core: &Core, request: F) -> Option<F::Output> {
    in_time_after(0, core, request).await
}

/// Like [`in_time`], for a task that runs beside the driver and could not wait for a dead one. A request continued by
/// the engine is polled once more there, and only then needs a timer.
pub(crate) async fn in_time_if_left<F: Future>(core: &Core, request: F) -> Option<F::Output> {
    in_time_after(1, core, request).await
}

/// A request that completes within the first poll and `polls` more needs no timer.
async fn in_time_after<F: Future>(mut polls: u32, core: &Core, request: F) -> Option<F::Output> {
    let mut request = pin!(request);
    let early = poll_fn(|cx| match request.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if polls == 0 => Poll::Ready(None),
        Poll::Pending => {
            polls -= 1;
            Poll::Pending
        }
    });
    if let Some(done) = early.await {
        return Some(done);
    }
    tokio::select! {
        biased;
        done = &mut request => Some(done),
        () = core.clock().sleep_until(core.now() + ABANDONED_REQUEST) => None,
    }
}

//! Unknown outcomes, undone in the background until they are settled.

use crate::backend::{Acquired, Backend, Claim, Leave, Release};
use crate::engine::background::{Unsettled, in_background};
use crate::engine::core::Core;
use crate::engine::report::Doing;
use crate::engine::route::Carrier;
use crate::engine::timing::{
    ABANDONED_REQUEST, UNDO_PAUSE_AMONG_ANSWERS, UNDO_PAUSE_IN_SILENCE, UNDO_PAUSES,
};
use crate::{Error, ErrorKind, Moment, Result};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// Drives an attempt whose caller is gone to its answer, and undoes it. `waits`: it may have joined the queue.
pub(crate) fn abandon<F>(core: &Arc<Core>, claim: Claim, carrier: Carrier, waits: bool, answering: F)
where
    F: Future<Output = Result<Acquired>> + Send + 'static,
{
    let engine = core.clone();
    in_background(core, async move {
        let answer = in_time(&engine, answering).await;
        let mut open = Open::new(&engine, claim).waiting(waits);
        match answer {
            Some(Ok(Acquired::Busy)) => return,
            Some(Err(e)) if !e.outcome_unknown() => return,
            Some(Ok(Acquired::Unsettled { until })) => open.until = until,
            Some(Ok(Acquired::Granted(_) | Acquired::Queued)) => {}
            Some(Err(_)) | None => open.unknown = true,
        }
        settle(engine, carrier, open).await;
    });
}

/// Undoes a claim that waits, or was granted, and of which no request is in flight.
pub(crate) fn undo(core: &Arc<Core>, claim: Claim) {
    let open = Open::new(core, claim).waiting(true);
    in_background(core, settle(core.clone(), Carrier::default(), open));
}

/// Undoes a claim of which a request may still be in flight. `waits`: it may have joined the queue.
pub(crate) fn undo_unknown(core: &Arc<Core>, claim: Claim, carrier: &Carrier, waits: bool) {
    let open = Open { unknown: true, ..Open::new(core, claim).waiting(waits) };
    in_background(core, settle(core.clone(), carrier.clone(), open));
}

/// The same for a claim that may have taken over what another one held, whose tokens were used.
pub(crate) fn undo_adopted(core: &Arc<Core>, claim: Claim) {
    let open = Open { unknown: true, leave: Leave::used(u16::MAX), ..Open::new(core, claim) };
    in_background(core, settle(core.clone(), Carrier::default(), open));
}

/// Undoes a claim of which a request may arrive until that moment. `used`: so many turns of its block may have been used.
pub(crate) fn undo_until(core: &Arc<Core>, claim: Claim, used: u16, until: Moment) {
    let open = Open { until, leave: Leave::used(used), ..Open::new(core, claim) };
    in_background(core, repeat(core.clone(), open));
}

/// Continues a release that its caller has given up, because the store does not answer, or denies it for now.
pub(crate) fn release_later(core: &Arc<Core>, claim: Claim, leave: Leave, deadline: Moment) {
    let open = Open { leave, lease_end: deadline, is_failing: true, ..Open::new(core, claim) };
    in_background(core, repeat(core.clone(), open));
}

/// The unsettled state of a claim.
struct Open {
    claim: Claim,
    leave: Leave,
    /// A request may still be in flight, for an unknown time.
    unknown: bool,
    /// The moment until which, according to the store, a request may still arrive.
    until: Moment,
    /// The moment by which a lease that was granted to the claim has expired.
    lease_end: Moment,
    /// What is left of the claim may be there for longer than its lease: as long as a session of this client, or, in a queue,
    /// until others find that it is silent.
    outlives_lease: bool,
    /// The time when the last release was sent.
    sent: Moment,
    /// The last release has failed, and the next one may succeed.
    is_failing: bool,
    _unsettled: Unsettled,
}

impl Open {
    fn new(core: &Core, claim: Claim) -> Self {
        let now = core.now();
        Self {
            leave: Leave::default(),
            unknown: false,
            until: Moment::ZERO,
            lease_end: now + claim.ttl.max(UNDO_PAUSES[0]),
            outlives_lease: core.backend.info().capabilities.lives_with_session(),
            sent: now,
            is_failing: false,
            _unsettled: core.background.unsettled(),
            claim,
        }
    }

    fn waiting(self, yes: bool) -> Self {
        Self { outlives_lease: self.outlives_lease || yes, ..self }
    }

    /// Returns when to release again, after this pause or, if there is none left, while the store is silent; `None` when
    /// it is no longer useful. If the store has reported until when a request may arrive, a release is sent after that
    /// moment, however long the lease. A session ends with its client, and a place in a queue soon after it.
    fn next(&self, now: Moment, pause: Option<Duration>, is_closed: bool) -> Option<Moment> {
        let end = if self.outlives_lease && !is_closed { Moment::NEVER } else { self.lease_end };
        let while_failing = (self.is_failing && !is_closed).then_some(UNDO_PAUSE_IN_SILENCE);
        match pause.or(while_failing).map(|pause| now + pause) {
            Some(at) if at <= end => Some(at),
            _ => (self.until > self.sent).then(|| self.until.max(now)),
        }
    }
}

/// Releases first on the connection that carried the claim, behind its request; then on the engine's, in case that one
/// is gone.
async fn settle(core: Arc<Core>, carrier: Carrier, mut open: Open) {
    if !is_settled(&core, carrier.get().unwrap_or(&core.backend), &mut open).await {
        repeat(core, open).await;
    }
}

/// Releases until nothing is left to do. After the claim's lease, only for as long as the client is used: its sessions
/// end with it.
async fn repeat(core: Arc<Core>, mut open: Open) {
    let (clock, background) = (core.clock().clone(), core.background.clone());
    let (client, mut kept) = (Arc::downgrade(&core), Some(core));
    let mut heard_closing = false;
    for pause in UNDO_PAUSES.into_iter().map(Some).chain(std::iter::repeat(None)) {
        let Some(mut at) = open.next(clock.now(), pause, background.is_closed()) else { return };
        if at > open.lease_end && open.until <= open.sent {
            kept = None;
        }
        // Once per pause: the answers to hurried releases must not trigger one another.
        let mut hurried = false;
        loop {
            let mut is_due = false;
            tokio::select! {
                biased;
                () = clock.sleep_until(at) => is_due = true,
                // Additional to the scheduled releases: a request that lands late is undone by those still to come.
                () = background.hurried(), if !hurried => hurried = true,
                () = background.closing(), if !heard_closing => heard_closing = true,
            }
            let Some(core) = kept.clone().or_else(|| client.upgrade()) else { return };
            if is_settled(&core, &core.backend, &mut open).await {
                return;
            }
            if is_due {
                break;
            }
            if open.is_failing {
                at = at.min(clock.now() + UNDO_PAUSE_AMONG_ANSWERS);
            }
        }
    }
}

/// Whether a release that has failed may succeed later. A store that denies it now may permit it again, once its administrator has
/// put a role, a table or an access list right: a lease may be long, and in a session that lives on the lock would stay taken.
pub(crate) fn may_succeed_later(failed: &Error) -> bool {
    failed.is_retryable() || matches!(failed.kind(), ErrorKind::Denied | ErrorKind::Config)
}

/// Releases once. Returns true when nothing is left to do.
async fn is_settled(core: &Arc<Core>, on: &Arc<dyn Backend>, open: &mut Open) -> bool {
    open.sent = core.now();
    let failed = match in_time(core, on.release(&open.claim, open.leave)).await {
        Some(Ok(release)) => {
            core.hear();
            // A client that is being closed sends no more: its connections end, and with them the requests in flight.
            if core.is_closed() {
                return true;
            }
            open.is_failing = false;
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
    (open.unknown, open.is_failing) = (true, may_succeed_later(&failed));
    core.failed(Doing::Undoing, &open.claim.name, &failed);
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

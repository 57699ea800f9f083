//! One look at a job whose time has come: its lock, a worker, and what is due.
//!
//! ```text
//! the lock ── decide ── nothing due ─────────────────────────► back
//!    ▲          │ due
//!    │          ├── a worker is free ──► run, decide again, …
//!    │          └── none: the lock goes back, wait for a worker (first come, first served),
//!    └─ busy ───────────── then one attempt at the lock with the worker in hand
//! ```

use super::context::{Context, Halt, Stop};
use super::hold::{Hold, Verdict};
use super::post::{Post, Seen};
use crate::decide::{after_now, decide};
use crate::notes::State;
use crate::{Busy, Error, EventKind, UnixTime};
use cotter::{Guard, Mutex};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// A wait for a lock asks anew so often, so that a store that is down is noticed.
const SLICE: Duration = Duration::from_secs(15);
/// Bounds of the next look where nothing could be decided.
const EARLIEST: Duration = Duration::from_millis(10);
const LATEST: Duration = Duration::from_secs(60);

/// Looks at a job that was never looked at here. A lock is taken only if something has to be done.
pub(super) async fn enrol(context: &Arc<Context>, post: &Arc<Post>) -> Result<Seen, Halt> {
    let note = {
        let _place = context.looks.acquire().await.expect("never closed");
        read(context, post).await?
    };
    if let Some(state) = note {
        let control = context.control.borrow().of(post.name());
        let seen = decide(&post.definition, Some(&state), &control, context.clock.now(), false);
        let quiet = state.hash == post.definition.hash && seen.due.is_none() && seen.crashed.is_none();
        if seen.stands_by || quiet && !seen.alarm {
            return Ok(Seen { next: seen.next, handled: state.handled, stands_by: seen.stands_by });
        }
    }
    attempt(context, post).await
}

/// Runs what is due, after a wait for the lock and for a worker where that is needed.
pub(super) async fn attempt(context: &Arc<Context>, post: &Arc<Post>) -> Result<Seen, Halt> {
    let name = context.lock_name(post.name());
    let mut mutex = context.settings.client.mutex(name);
    if let Some(lease) = post.job.policy.lease {
        mutex = mutex.lease(lease);
    }
    let latest = context.clock.now() + post.job.policy.misfire_window;
    let mut worker: Option<OwnedSemaphorePermit> = None;
    loop {
        let guard = match worker {
            Some(_) => context.ask(Stop::Starts, || mutex.try_lock()).await?,
            None => wait(context, post, &mutex, latest).await?,
        };
        let Some(guard) = guard else {
            if worker.take().is_some() && post.job.policy.busy == Busy::Wait {
                continue;
            }
            context.tell(post.name(), EventKind::Busy);
            let note = read(context, post).await?;
            let next = fallback(post, note.as_ref(), context.clock.now());
            return Ok(Seen { next, ..Seen::default() });
        };
        match Hold::new(context, post, guard).work(worker.take()).await? {
            Verdict::Seen(seen) => return Ok(seen),
            Verdict::NoWorker => worker = Some(next_worker(context).await?),
        }
    }
}

/// Waits for the lock until it is too late, without a worker.
async fn wait(
    context: &Context,
    post: &Post,
    mutex: &Mutex,
    latest: UnixTime,
) -> Result<Option<Guard>, Halt> {
    let mut guard = context.ask(Stop::Starts, || mutex.try_lock()).await?;
    while guard.is_none() && post.job.policy.busy == Busy::Wait && !post.is_retired() {
        let left = latest.since(context.clock.now());
        if left.is_zero() {
            break;
        }
        tokio::select! {
            () = context.stopping(Stop::Starts) => return Err(Halt::Stopped),
            got = context.ask(Stop::Starts, || mutex.try_lock_for(left.min(SLICE))) => guard = got?,
        }
    }
    Ok(guard)
}

/// First come, first served.
pub(super) async fn next_worker(context: &Context) -> Result<OwnedSemaphorePermit, Halt> {
    tokio::select! {
        () = context.stopping(Stop::Starts) => Err(Halt::Stopped),
        worker = context.workers.clone().acquire_owned() => Ok(worker.expect("never closed")),
    }
}

/// The note of a job.
pub(super) async fn read(context: &Context, post: &Post) -> Result<Option<State>, Halt> {
    let name = context.lock_name(post.name());
    let note = context.ask(Stop::Starts, || context.settings.client.note(&name)).await?;
    Ok(note.map(|n| State::parse(&n.bytes)).transpose().map_err(|e| named(post, &e))?)
}

fn named(post: &Post, error: &Error) -> Error {
    Error::new(error.kind(), format!("job {:?}: {error}", post.name()))
}

/// When to look again at a job that was not decided about: at its next slot, but within the minute and not at once.
pub(super) fn fallback(post: &Post, note: Option<&State>, now: UnixTime) -> Option<UnixTime> {
    let next = after_now(&post.definition, note, now).unwrap_or(now + LATEST);
    Some(next.clamp(now + EARLIEST, now + LATEST))
}

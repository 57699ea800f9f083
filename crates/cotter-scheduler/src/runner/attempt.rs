//! One attempt at a job whose time has come: its lock, a worker, and what is due.
//!
//! ```text
//! the lock ── decide ── nothing due ─────────────────────────► done
//!    ▲          │ due
//!    │          ├── a worker is free ──► run, decide again, …
//!    │          └── none: release the lock, wait for a worker (by priority),
//!    └─ busy ───────────── then try the lock once with the worker
//! ```

use super::chain;
use super::context::{Context, Halt, Stop};
use super::hold::{Hold, HoldResult};
use super::snapshot::{JobSnapshot, Observation};
use super::workers::Worker;
use crate::decide::{DOUBT, Decision, Followed, OVERDUE, after_now, decide};
use crate::notes::{JobControl, State};
use crate::{Busy, EventKind, UnixTime};
use cotter::{Guard, Mutex};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// A wait for a lock is repeated after this, so that an outage of the store is noticed.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(15);
/// Bounds of the next check if nothing could be decided.
const MIN_RECHECK: Duration = Duration::from_millis(10);
const MAX_RECHECK: Duration = Duration::from_secs(60);

/// The first attempt at a job in this process, and any at a job without slots or while another definition is in effect. It
/// acquires the lock only if something has to be done: who stands by must not be in the way of others at each slot.
pub(super) async fn first_attempt(
    context: &Arc<Context>,
    snapshot: &Arc<JobSnapshot>,
) -> Result<Observation, Halt> {
    let note = {
        let _place = context.reads.acquire().await.expect("never closed");
        read(context, snapshot).await?.state
    };
    if let Some(state) = note {
        let seen = look(context, snapshot, &state).await?;
        let quiet = state.hash == snapshot.definition.hash && seen.due.is_none() && seen.crashed.is_none();
        let quiet = quiet && !seen.alarm && !snapshot.is_doubted(&state);
        if seen.doubts || seen.taken_over.is_some() {
            return succeed(context, snapshot, &state).await;
        }
        if seen.stands_by || quiet {
            return Ok(Observation { handled: state.handled, ..Observation::of(&seen, snapshot) });
        }
    }
    attempt(context, snapshot).await
}

/// Doubts the definition in effect, or replaces it, if the lock is free: whoever holds it may be at work.
async fn succeed(
    context: &Arc<Context>,
    snapshot: &Arc<JobSnapshot>,
    note: &State,
) -> Result<Observation, Halt> {
    let mutex = lock_of(context, snapshot);
    let Some(guard) = context.ask(Stop::Starts, || mutex.try_lock()).await? else {
        let (next, why) = (context.clock.now() + OVERDUE, snapshot.definition.why_not(note));
        return Ok(Observation { next: Some(next), handled: note.handled, stands_by: Some(why) });
    };
    match Hold::new(context, snapshot, guard, None).work(None).await? {
        HoldResult::Observation(seen) => Ok(seen),
        // The job is ours now.
        HoldResult::NoWorker(since) => Ok(Observation { next: Some(since), ..Observation::default() }),
    }
}

/// Decides without the lock, as a hint.
async fn look(context: &Context, snapshot: &JobSnapshot, note: &State) -> Result<Decision, Halt> {
    let successes = chain::successes(context, snapshot, Some(note)).await?;
    let control = JobControl { successes, ..context.control.borrow().of(snapshot.name()) };
    let (now, max_lead) = (context.clock.now(), context.max_note_lead());
    Ok(decide(&snapshot.definition, Some(note), &control, now, max_lead, Followed::Not))
}

/// Runs what is due, waiting for the lock and for a worker if necessary.
pub(super) async fn attempt(
    context: &Arc<Context>,
    snapshot: &Arc<JobSnapshot>,
) -> Result<Observation, Halt> {
    let mutex = lock_of(context, snapshot);
    let latest = context.clock.now() + snapshot.job.policy.misfire_window;
    let mut worker: Option<Worker> = None;
    let mut waiting = None;
    loop {
        let guard = match worker {
            Some(_) => context.ask(Stop::Starts, || mutex.try_lock()).await?,
            None => wait(context, snapshot, &mutex, latest).await?,
        };
        let Some(guard) = guard else {
            if snapshot.is_retired() {
                return Err(Halt::Stopped);
            }
            if worker.take().is_some() && snapshot.job.policy.busy == Busy::Wait {
                continue;
            }
            let note = read(context, snapshot).await?.state;
            let seen = match &note {
                Some(note) => Some(look(context, snapshot, note).await?),
                None => None,
            };
            let stands_by = seen.and_then(|seen| Observation::of(&seen, snapshot).stands_by);
            if stands_by.is_none() {
                context.emit(snapshot.name(), EventKind::Busy);
            }
            let next = fallback(snapshot, note.as_ref(), context.clock.now());
            return Ok(Observation { next, stands_by, ..Observation::default() });
        };
        match Hold::new(context, snapshot, guard, waiting).work(worker.take()).await? {
            HoldResult::Observation(seen) => return Ok(seen),
            HoldResult::NoWorker(since) => {
                waiting.get_or_insert(since);
                worker = Some(patient_worker(context, snapshot).await?);
            }
        }
    }
}

/// The lock of a job.
pub(super) fn lock_of(context: &Context, snapshot: &JobSnapshot) -> Mutex {
    let mutex = context.settings.client.mutex(context.lock_name(snapshot.name()));
    match snapshot.job.policy.lease {
        Some(lease) => mutex.lease(lease),
        None => mutex,
    }
}

/// Waits for the lock, without a worker, until it is too late.
async fn wait(
    context: &Context,
    snapshot: &JobSnapshot,
    mutex: &Mutex,
    latest: UnixTime,
) -> Result<Option<Guard>, Halt> {
    let mut guard = context.ask(Stop::Starts, || mutex.try_lock()).await?;
    while guard.is_none() && snapshot.job.policy.busy == Busy::Wait {
        let left = latest.since(context.clock.now());
        if left.is_zero() {
            break;
        }
        tokio::select! {
            () = context.stopping(Stop::Starts) => return Err(Halt::Stopped),
            () = snapshot.retired() => return Err(Halt::Stopped),
            got = context.ask(Stop::Starts, || mutex.try_lock_for(left.min(MAX_LOCK_WAIT))) => guard = got?,
        }
    }
    Ok(guard)
}

/// Waits for a worker.
pub(super) async fn next_worker(context: &Context, snapshot: &JobSnapshot) -> Result<Worker, Halt> {
    tokio::select! {
        () = context.stopping(Stop::Starts) => Err(Halt::Stopped),
        () = snapshot.retired() => Err(Halt::Stopped),
        worker = context.workers.take(snapshot.job.policy.priority, context.clock.now()) => Ok(worker),
    }
}

/// Waits for a worker, and answers whoever doubts meanwhile that any replica runs this definition.
async fn patient_worker(context: &Arc<Context>, snapshot: &Arc<JobSnapshot>) -> Result<Worker, Halt> {
    let mut worker = pin!(next_worker(context, snapshot));
    loop {
        tokio::select! {
            biased;
            worker = &mut worker => return worker,
            () = context.clock.sleep(DOUBT / 3) => answer(context, snapshot).await?,
        }
    }
}

async fn answer(context: &Arc<Context>, snapshot: &Arc<JobSnapshot>) -> Result<(), Halt> {
    let note = {
        let _place = context.reads.acquire().await.expect("never closed");
        read(context, snapshot).await?.state
    };
    if !note.is_some_and(|state| snapshot.is_doubted(&state)) {
        return Ok(());
    }
    let mutex = lock_of(context, snapshot);
    match context.ask(Stop::Starts, || mutex.try_lock()).await? {
        Some(guard) => Hold::new(context, snapshot, guard, None).only_answer().await,
        None => Ok(()),
    }
}

/// The note of a job, as it was read.
pub(super) struct JobNote {
    pub(super) state: Option<State>,
    /// 0 if there is no note.
    pub(super) revision: u64,
    /// The job was forgotten.
    pub(super) is_forgotten: bool,
}

/// Reads the note of a job.
pub(super) async fn read(context: &Context, snapshot: &JobSnapshot) -> Result<JobNote, Halt> {
    let name = context.lock_name(snapshot.name());
    let note = context.ask(Stop::Starts, || context.settings.client.note(&name)).await?;
    let Some(note) = note else { return Ok(JobNote { state: None, revision: 0, is_forgotten: false }) };
    let state = State::parse(snapshot.name(), &note.bytes)?;
    Ok(JobNote { is_forgotten: state.is_none(), state, revision: note.revision })
}

/// The next check of a job without a decision: at its next slot, but within a minute and not immediately.
pub(super) fn fallback(snapshot: &JobSnapshot, note: Option<&State>, now: UnixTime) -> Option<UnixTime> {
    let next = after_now(&snapshot.definition, note, now).unwrap_or(now + MAX_RECHECK);
    Some(next.clamp(now + MIN_RECHECK, now + MAX_RECHECK))
}

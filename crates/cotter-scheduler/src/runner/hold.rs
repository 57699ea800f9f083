//! The work under one hold of a job's lock: decide, write, run, write, and repeat until nothing is due.

use super::attempt::{next_worker, read};
use super::context::{Context, Halt, Stop};
use super::execute::{Task, execute};
use super::snapshot::{JobSnapshot, Observation};
use crate::decide::{Decision, DueRun, Followed, decide};
use crate::notes::{HISTORY, History, LastRun, State};
use crate::{Ending, EventKind, Run, UnixTime};
use cotter::Guard;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, watch};

/// A slot that is this near is waited for with the lock, because the timers of two hosts are never in exact agreement.
const MAX_HELD_WAIT: Duration = Duration::from_millis(20);

/// One hold of a job's lock.
pub(super) struct Hold<'a> {
    context: &'a Arc<Context>,
    snapshot: &'a Arc<JobSnapshot>,
    guard: Arc<Guard>,
    /// The note in the store.
    note: Option<State>,
    history: Option<History>,
    /// When the last run under this hold started.
    started: Option<UnixTime>,
    /// Since when this process has been waiting for a worker.
    waiting: Option<UnixTime>,
}

/// The result of a hold.
pub(super) enum HoldResult {
    Observation(Observation),
    /// A run is due since then, but no worker is free.
    NoWorker(UnixTime),
}

impl<'a> Hold<'a> {
    /// `waiting` is the time since which this process has been waiting for a worker.
    pub(super) fn new(
        context: &'a Arc<Context>,
        snapshot: &'a Arc<JobSnapshot>,
        guard: Guard,
        waiting: Option<UnixTime>,
    ) -> Self {
        let guard = Arc::new(guard);
        Self { context, snapshot, guard, note: None, history: None, started: None, waiting }
    }

    /// Runs what is due, then releases the lock.
    pub(super) async fn work(mut self, worker: Option<OwnedSemaphorePermit>) -> Result<HoldResult, Halt> {
        let done = self.run_all(worker).await;
        self.give_back().await;
        done
    }

    async fn run_all(&mut self, mut worker: Option<OwnedSemaphorePermit>) -> Result<HoldResult, Halt> {
        self.note = read(self.context, self.snapshot).await?;
        loop {
            let now = self.context.measure().await?;
            let decision = self.decide(now);
            if self.context.is_stopping() || self.snapshot.is_retired() {
                return Err(Halt::Stopped);
            }
            let Some(slot) = decision.due.clone() else {
                if self.settle(&decision, now).await? {
                    continue;
                }
                return Ok(HoldResult::Observation(seen(&decision)));
            };
            match self.worker(worker.take()).await? {
                Worker::Ready(permit) => self.run(decision, slot, now, permit).await?,
                Worker::Later(permit) => worker = Some(permit),
                Worker::None => return Ok(HoldResult::NoWorker(now)),
            }
        }
    }

    fn decide(&self, now: UnixTime) -> Decision {
        let control = self.context.control.borrow().of(self.snapshot.name());
        let followed = match (self.started, self.waiting) {
            (Some(_), _) => Followed::Held,
            (None, Some(since)) => Followed::Since(since),
            (None, None) => Followed::Not,
        };
        decide(&self.snapshot.definition, self.note.as_ref(), &control, now, followed)
    }

    /// If nothing is due: writes changes of the note. Returns true if the next slot was so near that it was waited for.
    async fn settle(&mut self, decision: &Decision, now: UnixTime) -> Result<bool, Halt> {
        if decision.changed && !decision.stands_by {
            self.write(&decision.state, Stop::Starts).await?;
            self.emit(decision);
            if let Some(run) = &decision.crashed {
                self.record(run).await?;
            }
        }
        let near = decision.next.filter(|next| next.since(now) <= MAX_HELD_WAIT && !decision.stands_by);
        if let Some(next) = near {
            self.context.clock.sleep_until(next).await;
        }
        Ok(near.is_some())
    }

    /// A worker for the next run. A hold that has already run something waits for it with the lock, because the backlog is not
    /// recorded in the note; others that wait for a worker come first.
    async fn worker(&self, held: Option<OwnedSemaphorePermit>) -> Result<Worker, Halt> {
        if let Some(permit) = held {
            return Ok(Worker::Ready(permit));
        }
        if let Ok(permit) = self.context.workers.clone().try_acquire_owned() {
            return Ok(Worker::Ready(permit));
        }
        match self.started {
            Some(_) => self.wait_for_worker().await.map(Worker::Later),
            None => Ok(Worker::None),
        }
    }

    async fn wait_for_worker(&self) -> Result<OwnedSemaphorePermit, Halt> {
        tokio::select! {
            lost = self.guard.lost() => Err(Halt::Failed(cotter::Error::from(lost).into())),
            worker = next_worker(self.context) => worker,
        }
    }

    /// Runs one slot, with retries.
    async fn run(
        &mut self,
        decision: Decision,
        mut slot: DueRun,
        now: UnixTime,
        mut worker: OwnedSemaphorePermit,
    ) -> Result<(), Halt> {
        let mut state = decision.state.clone();
        // The note has room for one run. The previous one is written to the history first: otherwise it would be lost if this
        // process died now.
        if let Some(before) = &state.run {
            self.record(before).await?;
        }
        let (mut now, mut unreported) = (now, Some(decision));
        loop {
            let token = state.begin(&slot, now, self.guard.token().get());
            self.write(&state, Stop::Starts).await?;
            if let Some(decision) = unreported.take() {
                self.emit(&decision);
            }
            self.started = Some(now);
            let ending = self.run_once(&slot, token).await;
            let took = self.context.clock.now().since(now);
            drop(worker);
            let written = self.finish(&mut state, &ending).await;
            // Only writing the note shows whether the lock was held to the end.
            let lost = matches!(&written, Err(Halt::Failed(error)) if error.is_loss());
            let outcome = if lost { Ending::Lost } else { ending.clone() };
            self.context.emit(self.snapshot.name(), EventKind::Ended { slot: slot.at, outcome, took });
            written?;
            let Some(next) = self.again(&slot, &ending) else { return Ok(()) };
            worker = self.pause(&slot).await?;
            slot = next;
            now = self.context.measure().await?;
        }
    }

    async fn run_once(&self, slot: &DueRun, token: u64) -> Ending {
        let (context, snapshot, guard) = (self.context, self.snapshot, self.guard.clone());
        let (slot, attempt) = (slot.at, slot.attempt);
        context.emit(snapshot.name(), EventKind::Started { slot, attempt, token });
        let (cancel, cancelled) = watch::channel(None);
        let client = context.settings.client.clone();
        let task = Task::start((snapshot.job.action)(Run {
            slot,
            attempt,
            token,
            guard: guard.clone(),
            client,
            cancel: cancelled,
        }));
        execute(context, &snapshot.job.policy, &guard, task, &cancel).await
    }

    /// Records the end of a run. Without the lock nothing is written, and the slot counts as crashed.
    async fn finish(&mut self, state: &mut State, ending: &Ending) -> Result<(), Halt> {
        if let Err(lost) = self.guard.check() {
            return Err(Halt::Failed(cotter::Error::from(lost).into()));
        }
        state.end(self.context.clock.now(), ending);
        self.write(state, Stop::Runs).await?;
        match &state.run {
            Some(run) => self.record(run).await,
            None => Ok(()),
        }
    }

    fn again(&self, slot: &DueRun, ending: &Ending) -> Option<DueRun> {
        let retried = slot.attempt - 1 - slot.crashes;
        let again = ending.may_be_retried() && retried < self.snapshot.job.policy.retries;
        again.then(|| DueRun { attempt: slot.attempt + 1, ..slot.clone() })
    }

    /// Waits before a retry, with the lock but without a worker.
    async fn pause(&self, slot: &DueRun) -> Result<OwnedSemaphorePermit, Halt> {
        let after = self.snapshot.job.policy.retry_delay;
        let attempt = slot.attempt + 1;
        self.context.emit(self.snapshot.name(), EventKind::Retrying { slot: slot.at, attempt, after });
        tokio::select! {
            () = self.context.stopping(Stop::Starts) => return Err(Halt::Stopped),
            lost = self.guard.lost() => return Err(Halt::Failed(cotter::Error::from(lost).into())),
            () = self.context.clock.sleep(after) => {}
        }
        self.wait_for_worker().await
    }

    async fn write(&mut self, state: &State, until: Stop) -> Result<(), Halt> {
        let bytes = state.bytes();
        self.context.ask(until, || self.guard.put_note(bytes.clone())).await?;
        self.note = Some(state.clone());
        Ok(())
    }

    /// Adds a run to the history, unless it is already there.
    async fn record(&mut self, run: &LastRun) -> Result<(), Halt> {
        let mut history = match self.history.take() {
            Some(history) => history,
            None => self.read_history().await?,
        };
        if history.push(run, self.context.settings.history) {
            let bytes = history.bytes();
            self.context.ask(Stop::Runs, || self.guard.put_note_at(HISTORY, bytes)).await?;
        }
        self.history = Some(history);
        Ok(())
    }

    async fn read_history(&self) -> Result<History, Halt> {
        let name = self.context.lock_name(self.snapshot.name());
        let client = &self.context.settings.client;
        let note = self.context.ask(Stop::Runs, || client.note_at(&name, HISTORY)).await?;
        Ok(History::new(note.map(|n| n.bytes).unwrap_or_default()))
    }

    /// Emits the events of a decision, after it was written.
    fn emit(&self, decision: &Decision) {
        let emit = |kind| self.context.emit(self.snapshot.name(), kind);
        if decision.alarm {
            emit(EventKind::Alarm);
        }
        if let Some(run) = &decision.crashed {
            let again = decision.due.as_ref().is_some_and(|slot| slot.crashes > 0);
            emit(EventKind::Crashed { slot: run.slot, token: run.token, again });
        }
        let counts = [
            (decision.missed, EventKind::Missed { n: decision.missed }),
            (decision.skipped, EventKind::Skipped { n: decision.skipped }),
            (decision.merged, EventKind::Merged { n: decision.merged }),
        ];
        counts.into_iter().filter(|(n, _)| *n > 0).for_each(|(_, kind)| emit(kind));
    }

    /// Releases the lock, unless a clone of its [`Run`] still exists.
    async fn give_back(self) {
        let at_least = self.snapshot.job.policy.at_least;
        let passed = self.started.map(|at| self.context.clock.now().since(at));
        let rest = passed.map_or(Duration::ZERO, |passed| at_least.saturating_sub(passed));
        if !rest.is_zero() && !self.context.settings.client.info().capabilities.keep_for {
            return self.stay(rest).await;
        }
        let Some(guard) = Arc::into_inner(self.guard) else { return };
        let back = if rest.is_zero() { guard.release() } else { guard.leave_for(rest) };
        // Without an answer the lease expires; waiters report the state of the store.
        let _ = back.await;
    }

    /// Keeps the lock where it lives with this process: also while the scheduler stops, until the end of the grace period.
    async fn stay(self, rest: Duration) {
        let end = self.context.clock.now() + rest;
        tokio::select! {
            () = self.context.clock.sleep_until(end) => {}
            _ = self.guard.lost() => {}
            () = self.context.stopping(Stop::Starts) => {
                let rest = end.since(self.context.clock.now());
                self.context.emit(self.snapshot.name(), EventKind::Stays { rest });
                tokio::select! {
                    () = self.context.clock.sleep_until(end) => {}
                    _ = self.guard.lost() => {}
                    () = self.context.stopping(Stop::Runs) => {}
                }
            }
        }
        if let Some(guard) = Arc::into_inner(self.guard) {
            let _ = guard.release().await;
        }
    }
}

enum Worker {
    Ready(OwnedSemaphorePermit),
    /// It took a while: the decision has to be made again.
    Later(OwnedSemaphorePermit),
    None,
}

fn seen(decision: &Decision) -> Observation {
    Observation { next: decision.next, handled: decision.state.handled, stands_by: decision.stands_by }
}

//! The work under one hold of a job's lock: decide, write, run, write, and repeat until nothing is due.

use super::attempt::{next_worker, read};
use super::context::{Context, Halt, Stop};
use super::execute::{Task, execute};
use super::one_shots;
use super::register;
use super::snapshot::{JobSnapshot, Observation};
use crate::decide::{Decision, DueRun, Followed, decide};
use crate::notes::State;
use crate::notes::history::Output;
use crate::run::Report;
use crate::{Ending, EventKind, Job, OnCrash, Run, UnixTime};
use cotter::Guard;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, watch};

/// A slot that is this near is waited for with the lock, because the timers of two hosts are never in exact agreement.
const MAX_HELD_WAIT: Duration = Duration::from_millis(20);

/// For so long the estimate of the store's clock is much better than [`MAX_HELD_WAIT`].
const MAX_CLOCK_AGE: Duration = Duration::from_secs(1);

/// One hold of a job's lock.
pub(super) struct Hold<'a> {
    context: &'a Arc<Context>,
    snapshot: &'a Arc<JobSnapshot>,
    guard: Arc<Guard>,
    /// The note in the store.
    note: Option<State>,
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
        Self { context, snapshot, guard, note: None, started: None, waiting }
    }

    /// Runs what is due, then releases the lock.
    pub(super) async fn work(mut self, worker: Option<OwnedSemaphorePermit>) -> Result<HoldResult, Halt> {
        let done = self.run_all(worker).await;
        self.give_back().await;
        done
    }

    async fn run_all(&mut self, mut worker: Option<OwnedSemaphorePermit>) -> Result<HoldResult, Halt> {
        self.load().await?;
        loop {
            let (now, decision) = self.look().await?;
            if self.context.is_stopping() || self.snapshot.is_retired() {
                return Err(Halt::Stopped);
            }
            let Some(slot) = decision.due.clone() else {
                let is_near = self.settle(&decision, now).await?;
                self.drop_leftover().await?;
                if is_near {
                    continue;
                }
                return Ok(HoldResult::Observation(seen(&decision)));
            };
            match self.worker(worker.take()).await? {
                Worker::Ready(permit) if self.claim(&slot).await? => {
                    self.run(decision, slot, now, permit).await?
                }
                Worker::Ready(permit) => worker = Some(permit),
                Worker::Later(permit) => worker = Some(permit),
                Worker::None => return Ok(HoldResult::NoWorker(now)),
            }
        }
    }

    /// Decides, by the store's clock. After a short run that is nearly always followed by nothing the estimate is enough.
    async fn look(&self) -> Result<(UnixTime, Decision), Halt> {
        if self.started.is_some() && self.context.clock.age() <= MAX_CLOCK_AGE {
            let now = self.context.clock.now();
            let decision = self.decide(now);
            let is_near = |next: UnixTime| next.since(now) <= 2 * MAX_HELD_WAIT;
            if decision.due.is_none() && !decision.next.is_some_and(is_near) {
                return Ok((now, decision));
            }
        }
        let now = self.context.measure().await?;
        Ok((now, self.decide(now)))
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

    /// Prepares the start of a run. Returns false if it is a one-shot run that was cancelled or has run elsewhere.
    async fn claim(&mut self, slot: &DueRun) -> Result<bool, Halt> {
        let last = self.note.as_ref().and_then(State::one_shot);
        if last.is_some() && last == slot.one_shot.as_ref() {
            // Another attempt.
            return Ok(true);
        }
        // Once the state forgets the last run, nothing else tells that it has begun.
        if let Some(last) = last {
            one_shots::remove(self.context, last).await?;
        }
        match &slot.one_shot {
            Some(next) => one_shots::take(self.context, next, self.guard.token().get()).await,
            None => Ok(true),
        }
    }

    /// Removes the entry of a one-shot run that is over.
    async fn drop_leftover(&self) -> Result<(), Halt> {
        let Some(run) = self.note.as_ref().and_then(|state| state.run.as_ref()) else { return Ok(()) };
        match &run.one_shot {
            Some(last) if run.ended.is_some() && run.retry_at.is_none() => {
                one_shots::remove_if_known(self.context, last).await
            }
            _ => Ok(()),
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
        let (mut now, mut unreported) = (now, Some(decision));
        loop {
            self.make_room(&mut state).await?;
            let token = state.begin(&slot, now, self.guard.token().get(), &self.context.settings.host);
            self.write(&state, Stop::Starts).await?;
            if let Some(decision) = unreported.take() {
                self.emit(&decision);
            }
            self.started = Some(now);
            let (ending, report) = self.run_once(&slot, token, now).await;
            let took = self.context.clock.now().since(now);
            drop(worker);
            let written = self.finish(&mut state, &slot, &ending, report).await;
            // Only writing the note shows whether the lock was held to the end.
            let lost = matches!(&written, Err(Halt::Failed(error)) if error.is_loss());
            let outcome = if lost { Ending::Lost } else { ending };
            let last = matches!(written, Ok(None)) && !self.is_rerun(&slot, &outcome);
            let (at, attempt) = (slot.at, slot.attempt);
            let ended = EventKind::Ended { slot: at, attempt, token, outcome, took, last };
            self.context.emit(self.snapshot.name(), ended);
            let Some(retry_at) = written? else { return self.drop_leftover().await };
            worker = self.pause(&slot, retry_at).await?;
            slot = DueRun { attempt: slot.attempt + 1, ..slot };
            now = self.context.measure().await?;
        }
    }

    /// Moves earlier runs from the note to the history, if there are enough of them.
    async fn make_room(&self, state: &mut State) -> Result<(), Halt> {
        let Some(segment) = state.make_room(self.context.settings.history) else { return Ok(()) };
        self.context.ask(Stop::Starts, || self.guard.put_note_at(&segment.key, segment.bytes.clone())).await
    }

    async fn run_once(&self, slot: &DueRun, token: u64, now: UnixTime) -> (Ending, Report) {
        let (context, snapshot, guard) = (self.context, self.snapshot, self.guard.clone());
        let shift = if slot.asked { Duration::ZERO } else { snapshot.definition.shift };
        let late = now.since(slot.at + shift);
        let one_shot = slot.one_shot.as_ref().map(|one_shot| one_shot.id.as_str().into());
        let (slot, attempt, arguments) = (slot.at, slot.attempt, Arc::new(slot.arguments.clone()));
        context.emit(snapshot.name(), EventKind::Started { slot, attempt, token, late });
        let (cancel, cancelled) = watch::channel(None);
        let client = context.settings.client.clone();
        let report = Arc::<Mutex<Report>>::default();
        let task = Task::start((snapshot.job.action)(Run {
            slot,
            attempt,
            token,
            arguments,
            one_shot,
            guard: guard.clone(),
            client,
            cancel: cancelled,
            report: report.clone(),
        }));
        let ending = execute(context, &snapshot.job.policy, &guard, task, &cancel).await;
        let report = std::mem::take(&mut *report.lock().unwrap_or_else(PoisonError::into_inner));
        (ending, report)
    }

    /// Records the end of a run, and when it is repeated. Without the lock nothing is written, and the slot counts as crashed.
    async fn finish(
        &mut self,
        state: &mut State,
        slot: &DueRun,
        ending: &Ending,
        report: Report,
    ) -> Result<Option<UnixTime>, Halt> {
        if let Err(lost) = self.guard.check() {
            return Err(Halt::Failed(cotter::Error::from(lost).into()));
        }
        let now = self.context.clock.now();
        let retried = slot.attempt - 1 - slot.crashes;
        let again = ending.may_be_retried() && retried < self.snapshot.job.policy.retries;
        let retry_at = again.then(|| now + self.snapshot.job.policy.retry_pause(retried));
        state.end(now, ending);
        if let Some(run) = &mut state.run {
            (run.code, run.retry_at) = (report.code, retry_at);
        }
        if *ending != Ending::Ok && !report.output.is_empty() {
            self.keep_output(state, report.output).await?;
        }
        self.write(state, Stop::Runs).await?;
        Ok(retry_at)
    }

    /// Whether the run is repeated because it has lost its lock.
    fn is_rerun(&self, slot: &DueRun, outcome: &Ending) -> bool {
        let may_crash_again = slot.crashes + 1 < Job::MAX_CRASHES;
        *outcome == Ending::Lost && self.snapshot.job.policy.on_crash == OnCrash::Rerun && may_crash_again
    }

    async fn keep_output(&self, state: &mut State, text: String) -> Result<(), Halt> {
        let token = state.run.as_ref().map_or(0, |run| run.token);
        let (key, bytes) = (Output::key(state.next_output()), Output { token, text }.bytes());
        self.context.ask(Stop::Runs, || self.guard.put_note_at(&key, bytes.clone())).await
    }

    /// Waits before a retry, with the lock but without a worker. If this process does not live that long, or stops, another one
    /// finds in the note what is due.
    async fn pause(&self, slot: &DueRun, until: UnixTime) -> Result<OwnedSemaphorePermit, Halt> {
        let retried = slot.attempt - 1 - slot.crashes;
        let (attempt, after) = (slot.attempt + 1, self.snapshot.job.policy.retry_pause(retried));
        self.context.emit(self.snapshot.name(), EventKind::Retrying { slot: slot.at, attempt, after });
        tokio::select! {
            () = self.context.stopping(Stop::Starts) => return Err(Halt::Stopped),
            lost = self.guard.lost() => return Err(Halt::Failed(cotter::Error::from(lost).into())),
            () = self.context.clock.sleep_until(until) => {}
        }
        self.wait_for_worker().await
    }

    /// Loads the note. A job that was forgotten gets back into the list of names.
    async fn load(&mut self) -> Result<(), Halt> {
        let (note, is_forgotten) = read(self.context, self.snapshot).await?;
        self.note = note;
        if is_forgotten {
            register(self.context, std::slice::from_ref(&self.snapshot.job)).await?;
        }
        Ok(())
    }

    async fn write(&mut self, state: &State, until: Stop) -> Result<(), Halt> {
        let bytes = state.bytes();
        self.context.ask(until, || self.guard.put_note(bytes.clone())).await?;
        self.note = Some(state.clone());
        Ok(())
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

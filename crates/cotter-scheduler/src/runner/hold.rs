//! The work under one hold of a job's lock: decide, write, run, write, and repeat until nothing is due.

use super::attempt::{fallback, read};
use super::chain;
use super::context::{Context, Halt, Stop};
use super::one_shots;
use super::register;
use super::room::Room;
use super::snapshot::{JobSnapshot, Observation};
use super::workers::Worker;
use crate::decide::{Decision, DueRun, Followed, Successes, decide};
use crate::notes::{JobControl, State};
use crate::{Error, EventKind, UnixTime};
use cotter::Guard;
use std::sync::Arc;
use std::time::Duration;

/// A slot that is this near is waited for with the lock, because the timers of two hosts are never in exact agreement.
const MAX_HELD_WAIT: Duration = Duration::from_millis(20);

/// For so long the estimate of the store's clock is much better than [`MAX_HELD_WAIT`].
const MAX_CLOCK_AGE: Duration = Duration::from_secs(1);

/// One hold of a job's lock.
pub(super) struct Hold<'a> {
    pub(super) context: &'a Arc<Context>,
    pub(super) snapshot: &'a Arc<JobSnapshot>,
    pub(super) guard: Arc<Guard>,
    /// The note in the store.
    pub(super) note: Option<State>,
    /// Its revision when it was read, 0 if there was none. What is written replaces that one, or what this hold has written.
    seen: u64,
    /// Whether this hold has written it.
    is_written: bool,
    /// When the last run under this hold started.
    pub(super) started: Option<UnixTime>,
    /// Since when this process has been waiting for a worker.
    pub(super) waiting: Option<UnixTime>,
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
        Self { context, snapshot, guard, note: None, seen: 0, is_written: false, started: None, waiting }
    }

    /// Runs what is due, then releases the lock.
    pub(super) async fn work(mut self, worker: Option<Worker>) -> Result<HoldResult, Halt> {
        let done = self.run_all(worker).await;
        self.give_back().await;
        done
    }

    async fn run_all(&mut self, mut worker: Option<Worker>) -> Result<HoldResult, Halt> {
        self.load().await?;
        self.answer().await?;
        let mut room = None;
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
                return Ok(HoldResult::Observation(Observation::of(&decision, self.snapshot)));
            };
            match self.room(room.take(), worker.take(), now).await? {
                Room::Ready(worker, gates) if self.claim(&slot).await? => {
                    self.run(decision, slot, now, worker, gates).await?;
                }
                Room::Ready(worker, gates) | Room::Later(worker, gates) => room = Some((worker, gates)),
                Room::NoWorker => return Ok(HoldResult::NoWorker(now)),
                Room::Busy => return Ok(HoldResult::Observation(self.left(&decision))),
            }
        }
    }

    /// Leaves a slot to whoever holds what it needs.
    fn left(&self, decision: &Decision) -> Observation {
        self.context.emit(self.snapshot.name(), EventKind::Busy);
        let next = fallback(self.snapshot, self.note.as_ref(), self.context.clock.now());
        Observation { next, ..Observation::of(decision, self.snapshot) }
    }

    /// Decides, by the store's clock. After a short run that is nearly always followed by nothing the estimate is enough.
    async fn look(&self) -> Result<(UnixTime, Decision), Halt> {
        let successes = chain::successes(self.context, self.snapshot, self.note.as_ref()).await?;
        if self.started.is_some() && self.context.clock.age() <= MAX_CLOCK_AGE {
            let now = self.context.clock.now();
            let decision = self.decide(now, &successes);
            let is_near = |next: UnixTime| next.since(now) <= 2 * MAX_HELD_WAIT;
            if decision.due.is_none() && !decision.next.is_some_and(is_near) {
                return Ok((now, decision));
            }
        }
        let now = self.context.measure().await?;
        Ok((now, self.decide(now, &successes)))
    }

    fn decide(&self, now: UnixTime, successes: &Successes) -> Decision {
        let control = self.context.control.borrow().of(self.snapshot.name());
        let control = JobControl { successes: successes.clone(), ..control };
        let followed = match (self.started, self.waiting) {
            (Some(_), _) => Followed::Held,
            (None, Some(since)) => Followed::Since(since),
            (None, None) => Followed::Not,
        };
        let max_lead = self.context.max_note_lead();
        decide(&self.snapshot.definition, self.note.as_ref(), &control, now, max_lead, followed)
    }

    /// If nothing is due: writes changes of the note. Returns true if the next slot was so near that it was waited for.
    async fn settle(&mut self, decision: &Decision, now: UnixTime) -> Result<bool, Halt> {
        if decision.changed && (!decision.stands_by || decision.doubts) {
            self.write(&decision.state, Stop::Starts).await?;
            self.emit(decision);
        }
        let near = decision.next.filter(|next| next.since(now) <= MAX_HELD_WAIT && !decision.stands_by);
        if let Some(next) = near {
            self.context.clock.sleep_until(next).await;
        }
        Ok(near.is_some())
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
    pub(super) async fn drop_leftover(&self) -> Result<(), Halt> {
        let Some(run) = self.note.as_ref().and_then(|state| state.run.as_ref()) else { return Ok(()) };
        match &run.one_shot {
            Some(last) if run.ended.is_some() && run.retry_at.is_none() => {
                one_shots::remove_if_known(self.context, last).await
            }
            _ => Ok(()),
        }
    }

    /// Loads the note. A job that was forgotten gets back into the list of names.
    pub(super) async fn load(&mut self) -> Result<(), Halt> {
        let read = read(self.context, self.snapshot).await?;
        (self.note, self.seen) = (read.state, read.revision);
        if read.is_forgotten {
            register(self.context, std::slice::from_ref(&self.snapshot.job)).await?;
        }
        Ok(())
    }

    /// Answers whoever doubts that any host runs this definition: what is due may still have to wait for something.
    async fn answer(&mut self) -> Result<(), Halt> {
        let Some(mut state) = self.note.clone().filter(|state| self.snapshot.is_doubted(state)) else {
            return Ok(());
        };
        state.doubted = None;
        self.write(&state, Stop::Starts).await
    }

    /// Does no more than answer, if that is necessary.
    pub(super) async fn only_answer(mut self) -> Result<(), Halt> {
        self.load().await?;
        self.answer().await?;
        self.give_back().await;
        Ok(())
    }

    pub(super) async fn write(&mut self, state: &State, until: Stop) -> Result<(), Halt> {
        let bytes = state.bytes();
        let written =
            self.context.ask(until, || self.guard.replace_note("", self.seen, bytes.clone())).await?;
        if written.is_none() {
            return Err(Error::stale(self.snapshot.name()).into());
        }
        (self.note, self.is_written) = (Some(state.clone()), true);
        Ok(())
    }

    /// Makes sure that the note that was read is the newest one, before anything else is written that depends on it.
    pub(super) async fn confirm(&mut self) -> Result<(), Halt> {
        match self.note.clone().filter(|_| !self.is_written) {
            Some(state) => self.write(&state, Stop::Starts).await,
            None => Ok(()),
        }
    }

    /// Emits the events of a decision, after it was written.
    pub(super) fn emit(&self, decision: &Decision) {
        let emit = |kind| self.context.emit(self.snapshot.name(), kind);
        if let Some(why) = &decision.taken_over {
            emit(EventKind::TakenOver { why: why.clone() });
        }
        if decision.alarm {
            emit(EventKind::Alarm);
        }
        if let Some(run) = &decision.crashed {
            let again = decision.due.as_ref().is_some_and(|slot| slot.crashes > 0);
            emit(EventKind::Crashed { slot: run.slot, token: run.token, again });
        }
        let counts = [
            (decision.missed, EventKind::Missed { n: decision.missed, more: decision.more }),
            (decision.skipped, EventKind::Skipped { n: decision.skipped, more: decision.more }),
            (decision.merged, EventKind::Merged { n: decision.merged }),
        ];
        counts.into_iter().filter(|(n, _)| *n > 0).for_each(|(_, kind)| emit(kind));
    }

    /// Releases the lock, unless a clone of its [`Run`] still exists.
    pub(super) async fn give_back(self) {
        let at_least = self.snapshot.job.policy.at_least;
        let passed = self.started.map(|at| self.context.clock.now().since(at));
        let rest = passed.map_or(Duration::ZERO, |passed| at_least.saturating_sub(passed));
        if !rest.is_zero() && !self.context.settings.client.info().capabilities.keep_for {
            return self.stay(rest).await;
        }
        let Some(guard) = Arc::into_inner(self.guard) else { return };
        let back = if rest.is_zero() { guard.release() } else { guard.keep_for(rest) };
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
                self.context.emit(self.snapshot.name(), EventKind::Draining { rest });
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

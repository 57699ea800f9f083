//! The runs of one slot: written down, started, ended, repeated.

use super::context::{Halt, Stop};
use super::execute::{Limits, Task, execute};
use super::gates::Gates;
use super::hold::Hold;
use super::workers::Worker;
use crate::decide::{Decision, DueRun, after_now, may_crash_again};
use crate::notes::State;
use crate::notes::history::Output;
use crate::run::Report;
use crate::{Concurrency, Ending, EventKind, Run, UnixTime};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

impl Hold<'_> {
    /// Runs one slot, with retries.
    pub(super) async fn run(
        &mut self,
        decision: Decision,
        mut slot: DueRun,
        now: UnixTime,
        mut worker: Worker,
        mut gates: Gates,
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
            let (ending, report) = self.run_once(&slot, token, now, &gates).await;
            let took = self.context.clock.now().since(now);
            drop(worker);
            gates.leave().await;
            let written = self.finish(&mut state, &slot, &ending, report).await;
            // Only writing the note shows whether the lock was held to the end.
            let lost = matches!(&written, Err(Halt::Failed(error)) if error.is_loss());
            let outcome = if lost { Ending::Lost } else { ending };
            if outcome == Ending::Ok {
                self.context.succeeded.send_modify(|jobs| jobs.push(self.snapshot.name().clone()));
            }
            let last = matches!(written, Ok(None)) && !self.is_rerun(&slot, token, &outcome);
            let (at, attempt) = (slot.at, slot.attempt);
            let ended = EventKind::Ended { slot: at, attempt, token, outcome, took, last };
            self.context.emit(self.snapshot.name(), ended);
            let Some(retry_at) = written? else { return self.drop_leftover().await };
            (worker, gates) = self.pause(&slot, retry_at).await?;
            slot = DueRun { attempt: slot.attempt + 1, ..slot };
            now = self.context.measure().await?;
        }
    }

    /// Moves earlier runs from the note to the history, if there are enough of them.
    async fn make_room(&mut self, state: &mut State) -> Result<(), Halt> {
        let Some(segment) = state.make_room(self.context.settings.history) else { return Ok(()) };
        self.confirm().await?;
        self.context.ask(Stop::Starts, || self.guard.put_note_at(&segment.key, segment.bytes.clone())).await
    }

    async fn run_once(&self, slot: &DueRun, token: u64, now: UnixTime, gates: &Gates) -> (Ending, Report) {
        let (context, snapshot, guard) = (self.context, self.snapshot, self.guard.clone());
        let shift = if slot.asked { Duration::ZERO } else { snapshot.definition.shift };
        let late = now.since(slot.requested_at.unwrap_or(slot.at + shift));
        // To the work, a slot that was requested is like any other.
        let one_shot = slot.one_shot.as_ref().filter(|_| slot.request.is_none());
        let one_shot = one_shot.map(|one_shot| one_shot.id.as_str().into());
        let (slot, attempt, arguments) = (slot.at, slot.attempt, Arc::new(slot.arguments.clone()));
        context.emit(snapshot.name(), EventKind::Started { slot, attempt, token, late });
        let (cancel, cancelled) = watch::channel(None);
        let client = context.settings.client.clone();
        let report = Arc::<Mutex<Report>>::default();
        let run = Run {
            slot,
            attempt,
            token,
            arguments,
            one_shot,
            guard: guard.clone(),
            client,
            cancel: cancelled,
            report: report.clone(),
        };
        let span = run.span(snapshot.name());
        let task = Task::start((snapshot.job.action)(run), span);
        let limits = Limits { guard: &guard, gates };
        let (replaced, asked) = (self.replaced(now), self.stopped_by(token));
        let ending = execute(context, &snapshot.job.policy, &limits, task, &cancel, replaced, asked).await;
        let report = std::mem::take(&mut *report.lock().unwrap_or_else(PoisonError::into_inner));
        (ending, report)
    }

    /// Completes when the next slot takes the place of a run that starts now. Slots of a job that is paused or removed do not
    /// come.
    async fn replaced(&self, mut now: UnixTime) {
        let definition = &self.snapshot.definition;
        let replaces = self.snapshot.job.policy.concurrency == Concurrency::Replace;
        if replaces && !definition.trigger.depends_on_ends() {
            while let Some(at) = after_now(definition, self.note.as_ref(), now) {
                self.context.clock.sleep_until(at).await;
                if !self.is_withdrawn() {
                    return;
                }
                now = at;
            }
        }
        std::future::pending().await
    }

    /// Completes when an operator wants a run to end, with who that is.
    async fn stopped_by(&self, token: u64) -> String {
        let (mut control, job) = (self.context.control.subscribe(), self.snapshot.name());
        let known = control.wait_for(|control| control.stopped_by(job, token).is_some()).await;
        let who = known.ok().and_then(|control| control.stopped_by(job, token));
        match who {
            Some(who) => who,
            None => std::future::pending().await,
        }
    }

    /// Whether no more slots are started: the job is paused, removed, or has another definition now.
    fn is_withdrawn(&self) -> bool {
        self.snapshot.is_retired() || self.context.control.borrow().is_paused(self.snapshot.name())
    }

    /// Whether a run may be repeated. One that was requested runs during a pause as well.
    fn may_be_repeated(&self, slot: &DueRun) -> bool {
        if slot.request.is_some() { !self.snapshot.is_retired() } else { !self.is_withdrawn() }
    }

    /// Completes when a run must not be repeated.
    async fn withdrawn(&self, slot: &DueRun) {
        let mut control = self.context.control.subscribe();
        let (name, is_requested) = (self.snapshot.name(), slot.request.is_some());
        tokio::select! {
            () = self.snapshot.retired() => {}
            _ = control.wait_for(|control| !is_requested && control.is_paused(name)) => {}
        }
    }

    /// Records the end of a run, and when it is repeated. Returns the latter only for a retry: what was
    /// stopped is repeated by another replica. Without the lock nothing is written, and the slot counts as crashed.
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
        let retried = slot.retried();
        let again = ending.may_be_retried() && retried < self.snapshot.job.policy.retries;
        let retry_at = again.then(|| now + self.snapshot.job.policy.retry_pause(retried));
        let token = state.run.as_ref().map_or(0, |run| run.token);
        let rerun_at = (*ending == Ending::Stopped && self.is_rerun(slot, token, ending)).then_some(now);
        state.end(now, ending);
        if let Some(run) = &mut state.run {
            (run.code, run.retry_at) = (report.code, retry_at.or(rerun_at));
        }
        if *ending != Ending::Ok && !report.output.is_empty() {
            self.keep_output(state, report.output).await?;
        }
        self.write(state, Stop::Runs).await?;
        Ok(retry_at)
    }

    /// Whether the run is repeated because it has lost its lock, or was stopped with the scheduler, unless it was to end anyway.
    fn is_rerun(&self, slot: &DueRun, token: u64, outcome: &Ending) -> bool {
        let is_asked = self.context.control.borrow().stopped_by(self.snapshot.name(), token).is_some();
        match outcome {
            _ if is_asked => false,
            Ending::Lost => may_crash_again(&self.snapshot.definition, slot.crashes),
            Ending::Stopped => self.snapshot.job.policy.reruns_stopped(),
            _ => false,
        }
    }

    async fn keep_output(&self, state: &mut State, text: String) -> Result<(), Halt> {
        let token = state.run.as_ref().map_or(0, |run| run.token);
        let (key, bytes) = (Output::key(state.next_output()), Output { token, text }.bytes());
        self.context.ask(Stop::Runs, || self.guard.put_note_at(&key, bytes.clone())).await
    }

    /// Waits before a retry, with the lock but without a worker and what else a run needs. If this process does not live that
    /// long, or stops, another one finds in the note what is due; so does the next definition, or this one after a pause.
    async fn pause(&mut self, slot: &DueRun, until: UnixTime) -> Result<(Worker, Gates), Halt> {
        let (attempt, after) = (slot.attempt + 1, self.snapshot.job.policy.retry_pause(slot.retried()));
        self.context.emit(self.snapshot.name(), EventKind::Retrying { slot: slot.at, attempt, after });
        tokio::select! {
            () = self.context.stopping(Stop::Starts) => return Err(Halt::Stopped),
            lost = self.guard.lost() => return Err(Halt::Failed(cotter::Error::from(lost).into())),
            () = self.withdrawn(slot) => return Err(Halt::Stopped),
            () = self.context.clock.sleep_until(until) => {}
        }
        let worker = self.wait_for_worker().await?;
        let room = match self.enter(worker).await? {
            Some(room) => room,
            None => match Gates::enter(self.context, self.snapshot, &self.guard).await? {
                Some(gates) => (self.wait_for_worker().await?, gates),
                // The note says that the attempt is due.
                None => return Err(Halt::Stopped),
            },
        };
        if self.may_be_repeated(slot) { Ok(room) } else { Err(Halt::Stopped) }
    }
}

//! Requested runs, and waiting for them.

use crate::jobs::{Jobs, checked};
use crate::log::about_arguments;
use crate::notes::{Entry, JobControl, OneShotKey, State, history, one_shots};
use crate::{Error, Result, UnixTime};
use std::time::Duration;

/// A run of a job that was [requested](Jobs::trigger).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requested {
    job: String,
    run: Wanted,
    at: UnixTime,
}

/// The run that answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    /// The first one for the request of this number or a later one.
    Number(u64),
    Slot(UnixTime, OneShotKey),
}

impl Requested {
    /// The job.
    pub fn job(&self) -> &str {
        &self.job
    }

    /// The slot that was [asked for](Jobs::trigger_slot), if any.
    pub fn slot(&self) -> Option<UnixTime> {
        match self.run {
            Wanted::Number(_) => None,
            Wanted::Slot(slot, _) => Some(slot),
        }
    }

    pub(crate) fn of_slot(job: &str, slot: UnixTime, key: OneShotKey, at: UnixTime) -> Self {
        Self { job: job.to_owned(), run: Wanted::Slot(slot, key), at }
    }

    /// Whether it is answered by a run for the request of this number, or with this key.
    fn is_answered_by(&self, request: Option<u64>, key: Option<&OneShotKey>) -> bool {
        match &self.run {
            Wanted::Number(number) => request >= Some(*number),
            Wanted::Slot(_, own) => key == Some(own),
        }
    }
}

/// Of the history, nothing is read that ended this long before the request. Clocks may differ on a store without one; that the run is
/// the right one follows from its number.
const SLACK: Duration = Duration::from_secs(3600);

/// A wait for a change of the job's note is repeated after this.
const MAX_CHANGE_WAIT: Duration = Duration::from_secs(60);

impl Jobs {
    /// Requests one run as soon as possible, even of a paused job, but not of a disabled one. Several requests during a run count
    /// as one, unless they have [arguments](Self::trigger_with).
    ///
    /// # Errors
    /// As [`pause`](Self::pause); [`ErrorKind::Job`](crate::ErrorKind::Job) if the job is disabled.
    pub async fn trigger(&self, job: &str) -> Result<Requested> {
        self.trigger_with(job, []).await
    }

    /// Requests one run with [arguments](crate::Run::arguments), as soon as possible. It is a separate run, after those
    /// that were requested before. Its retries have the same arguments.
    ///
    /// # Errors
    /// As [`trigger`](Self::trigger); [`ErrorKind::Job`](crate::ErrorKind::Job) for a name that is empty or occurs twice, for more
    /// than [`MAX_ARGUMENTS`](Self::MAX_ARGUMENTS) bytes, and if [`MAX_REQUESTS`](Self::MAX_REQUESTS) requests with arguments are
    /// pending already, or if the requests for this and other jobs fill the note that they share.
    pub async fn trigger_with(
        &self,
        job: &str,
        arguments: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Requested> {
        let arguments = checked(job, arguments)?;
        let request = |control: &mut JobControl, now, state: &State| {
            if state.is_disabled() {
                return Err(Error::job(job, "it is disabled by its definition, and would not run"));
            }
            control.request(state.handled, &arguments, now);
            match control.arguments.len() {
                0..=Self::MAX_REQUESTS => {
                    Ok(Requested { job: job.to_owned(), run: Wanted::Number(control.requests), at: now })
                }
                _ => Err(Error::job(
                    job,
                    "too many requests with arguments are pending; wait until they have run",
                )
                .passing()),
            }
        };
        let (requested, _) = self.ask(job, request).await?;
        self.has_asked(Some(job), "trigger", about_arguments(&arguments)).await;
        Ok(requested)
    }

    /// Waits until a requested run has ended, and is not repeated any more. Returns its last attempt. `None` if it was not run,
    /// because the job was disabled or its [slot](Self::trigger_slot) cancelled in the meantime, or if so many runs have followed that the history does not have it any more.
    ///
    /// It waits for as long as the run takes, and for a scheduler to start it.
    ///
    /// Cancel safety: nothing is lost, and it can be waited for again.
    ///
    /// # Errors
    /// As [`history`](Self::history); [`ErrorKind::UnknownJob`](crate::ErrorKind::UnknownJob) if the job is forgotten meanwhile.
    pub async fn ended(&self, request: &Requested) -> Result<Option<Entry>> {
        let (lock, job) = (self.lock_name(&request.job), &request.job);
        loop {
            // Before the state: what does not wait any more is in there.
            let waits = self.waits(request).await?;
            let note = self.client.note(&lock).await?;
            let state = note.as_ref().map(|note| State::parse(job, &note.bytes)).transpose()?.flatten();
            let Some(state) = state else { return Err(self.unknown(job).await) };
            if let Some(answer) = self.answer(request, state, waits).await? {
                return Ok(answer);
            }
            let seen = note.map_or(0, |note| note.revision);
            self.client.note_changed(&lock, "", seen, MAX_CHANGE_WAIT).await?;
        }
    }

    /// Whether the request for a slot is still there. That of a run that has begun may be.
    async fn waits(&self, request: &Requested) -> Result<bool> {
        match &request.run {
            Wanted::Number(_) => Ok(false),
            Wanted::Slot(_, key) => one_shots::has(&self.client, &self.group, key).await,
        }
    }

    /// The last attempt of the run that answers a request, or that there is none; `None` if it is still to come.
    async fn answer(&self, request: &Requested, state: State, waits: bool) -> Result<Option<Option<Entry>>> {
        match &request.run {
            Wanted::Number(number) if state.handled < *number => return Ok(None),
            Wanted::Slot(_, key) if waits && state.one_shot() != Some(key) => {
                // It runs once the job is enabled again, but nobody waits for that.
                return Ok(state.is_disabled().then_some(None));
            }
            _ => {}
        }
        let going_on = state.run.clone().filter(|run| run.ended.is_none() || run.retry_at.is_some());
        let place = (self.lock_name(&request.job), state);
        let kept = history::load(&self.client, &[place], Some(request.at - SLACK)).await?;
        let mut runs = kept.into_iter().flat_map(|kept| kept.runs);
        let first = runs.find(|run| request.is_answered_by(run.request, run.key.as_ref()));
        let is_going_on = going_on.is_some_and(|run| match &first {
            Some(first) => (run.slot, &run.one_shot) == (first.slot, &first.key),
            None => request.is_answered_by(run.request, run.one_shot.as_ref()),
        });
        if is_going_on {
            return Ok(None);
        }
        let Some(first) = first else { return Ok(Some(None)) };
        let is_attempt = |run: &Entry| (run.slot, &run.key) == (first.slot, &first.key);
        Ok(Some(runs.take_while(is_attempt).last().or_else(|| Some(first.clone()))))
    }
}

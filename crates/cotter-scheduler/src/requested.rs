//! Requested runs, and waiting for them.

use crate::jobs::{Jobs, checked};
use crate::notes::{Entry, JobControl, State, history};
use crate::{Error, Result, UnixTime};
use std::time::Duration;

/// A run of a job that was [requested](Jobs::trigger).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requested {
    job: String,
    /// The run that answers it is the first one for this request or a later one.
    number: u64,
    at: UnixTime,
}

impl Requested {
    /// The job.
    pub fn job(&self) -> &str {
        &self.job
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
                    Ok(Requested { job: job.to_owned(), number: control.requests, at: now })
                }
                _ => Err(Error::job(
                    job,
                    "too many requests with arguments are pending; wait until they have run",
                )
                .passing()),
            }
        };
        Ok(self.ask(job, request).await?.0)
    }

    /// Waits until a requested run has ended, and is not repeated any more. Returns its last attempt. `None` if it was not run,
    /// because the job was disabled in the meantime, or if so many runs have followed that the history does not have it any more.
    ///
    /// It waits for as long as the run takes, and for a scheduler to start it.
    ///
    /// Cancel safety: nothing is lost, and it can be waited for again.
    ///
    /// # Errors
    /// As [`history`](Self::history); [`ErrorKind::UnknownJob`](crate::ErrorKind::UnknownJob) if the job is forgotten meanwhile.
    pub async fn ended(&self, request: &Requested) -> Result<Option<Entry>> {
        let (lock, job) = (self.lock_name(&request.job), &request.job);
        let mut note = self.client.note(&lock).await?;
        loop {
            let state = note.as_ref().map(|note| State::parse(job, &note.bytes)).transpose()?.flatten();
            let Some(state) = state else { return Err(self.unknown(job).await) };
            if let Some(answer) = self.answer(request, state).await? {
                return Ok(answer);
            }
            let seen = note.map_or(0, |note| note.revision);
            note = match self.client.note_changed(&lock, "", seen, MAX_CHANGE_WAIT).await? {
                Some(changed) => Some(changed),
                None => self.client.note(&lock).await?,
            };
        }
    }

    /// The last attempt of the run that answers a request, or that there is none; `None` if it is still to come.
    async fn answer(&self, request: &Requested, state: State) -> Result<Option<Option<Entry>>> {
        if state.handled < request.number {
            return Ok(None);
        }
        let going_on = state.run.clone().filter(|run| run.ended.is_none() || run.retry_at.is_some());
        let place = (self.lock_name(&request.job), state);
        let kept = history::load(&self.client, &[place], Some(request.at - SLACK)).await?;
        let mut runs = kept.into_iter().flat_map(|kept| kept.runs);
        let first = runs.find(|run| run.request >= Some(request.number));
        let is_going_on = going_on.is_some_and(|run| match &first {
            Some(first) => run.slot == first.slot,
            None => run.request >= Some(request.number),
        });
        if is_going_on {
            return Ok(None);
        }
        let Some(first) = first else { return Ok(Some(None)) };
        let slot = first.slot;
        Ok(Some(runs.take_while(|run| run.slot == slot).last().or(Some(first))))
    }
}

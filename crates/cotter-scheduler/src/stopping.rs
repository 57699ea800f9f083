//! Stopping a run that is in progress.

use crate::notes::{Entry, JobControl, State, StopRun, history};
use crate::{Jobs, Result, UnixTime};
use std::time::Duration;

/// What has come of a request to [stop](Jobs::stop) the run of a job.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopping {
    /// No run is in progress, and nothing was requested.
    NotRunning,
    /// The run has ended. If it was stopped, its ending is [`StoppedBy`](crate::Ending::StoppedBy); it may also have ended by itself
    /// just before, or crashed. `None` if so many runs have followed that the history does not have it any more.
    Ended(Option<Box<Entry>>),
    /// It has not ended within the time. The request stands.
    Waiting {
        /// The host that runs it, or did when it died; `None` if it has no name.
        host: Option<String>,
        /// When the run started.
        started: UnixTime,
    },
}

impl Jobs {
    /// Ends the run of a job that is in progress, on whichever host, as the end of its scheduler would after the grace period:
    /// [`Run::cancelled`](crate::Run::cancelled), then it is dropped. Its slot is not run again, whatever the policies for retries,
    /// stops and crashes, unless it has ended in another way before the request was seen. Later slots are not affected.
    ///
    /// Waits up to `wait` for the end, by the clock of this client.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub async fn stop(&self, job: &str, wait: Duration) -> Result<Stopping> {
        if self.known(job).await?.unfinished().is_none() {
            return Ok(Stopping::NotRunning);
        }
        let clock = self.client.clock();
        let end = clock.now() + wait;
        let request = |control: &mut JobControl, _, state: &State| {
            let run = state.unfinished().cloned();
            let by = self.by.clone();
            control.stop = run.as_ref().map(|run| StopRun { token: run.token, by });
            Ok(run)
        };
        let (Some(run), _) = self.ask(job, request).await? else { return Ok(Stopping::NotRunning) };
        self.has_asked(Some(job), "stop", format!("the run that began at {:.0}", run.started)).await;
        let lock = self.lock_name(job);
        let mut note = self.client.note(&lock).await?;
        loop {
            let state = note.as_ref().map(|note| State::parse(job, &note.bytes)).transpose()?.flatten();
            let Some(state) = state else { return Err(self.unknown(job).await) };
            if state.unfinished().is_none_or(|now| now.token != run.token) {
                let kept = history::load(&self.client, &[(lock, state)], Some(run.started)).await?;
                let mut runs = kept.into_iter().flat_map(|kept| kept.runs);
                return Ok(Stopping::Ended(runs.find(|entry| entry.token == run.token).map(Box::new)));
            }
            let left = end.since(clock.now());
            if left.is_zero() {
                let host = (!run.host.is_empty()).then_some(run.host);
                return Ok(Stopping::Waiting { host, started: run.started });
            }
            let seen = note.map_or(0, |note| note.revision);
            note = match self.client.note_changed(&lock, "", seen, left).await? {
                Some(changed) => Some(changed),
                None => self.client.note(&lock).await?,
            };
        }
    }
}

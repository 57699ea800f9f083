//! The last runs of one job, of several, or of all jobs of a group.

use crate::jobs::Jobs;
use crate::notes::{Entry, State, history};
use crate::{Result, UnixTime};

/// The last runs of a job.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The name within the group.
    pub job: String,
    /// Those that were asked for, oldest first.
    pub runs: Vec<Entry>,
    /// When the oldest run started that is kept, if there were runs before it: they have made room for later ones. `None` if all runs
    /// are kept, and if the job has no run that ended since the instant that was asked for.
    pub kept_from: Option<UnixTime>,
}

/// The number of jobs whose notes are in memory at once.
const JOBS_AT_ONCE: usize = 100;

impl Jobs {
    /// Returns the last runs of a job, oldest first.
    ///
    /// Needs a tokio runtime.
    ///
    /// # Errors
    /// As [`pause`](Self::pause); [`ErrorKind::ForeignNote`](crate::ErrorKind::ForeignNote) for a note that cannot be read.
    pub async fn history(&self, job: &str) -> Result<Vec<Entry>> {
        let state = self.known(job).await?;
        let kept = history::load(&self.client, &[(self.lock_name(job), state)], None).await?;
        Ok(kept.into_iter().flat_map(|kept| kept.runs).collect())
    }

    /// Returns the last runs of these jobs, in their order; with `since` only those that ended then or later. A run that is in progress
    /// is not among them.
    ///
    /// Needs a tokio runtime.
    ///
    /// # Errors
    /// As [`history`](Self::history).
    pub async fn histories_of(&self, jobs: &[String], since: Option<UnixTime>) -> Result<Vec<History>> {
        let states = self.states(jobs).await?.into_iter().zip(jobs);
        let mut known = Vec::new();
        for (state, job) in states {
            match state {
                Some(state) => known.push((job.clone(), state)),
                None => return Err(self.unknown(job).await),
            }
        }
        self.load_histories(known, since).await
    }

    /// Returns the same for all jobs of the group, ordered by name. A thousand notes are requested at a time, and none of the history
    /// of a job whose last run ended before `since`.
    ///
    /// Needs a tokio runtime.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn histories(&self, since: Option<UnixTime>) -> Result<Vec<History>> {
        self.load_histories(self.states_of_all().await?, since).await
    }

    async fn load_histories(
        &self,
        jobs: Vec<(String, State)>,
        since: Option<UnixTime>,
    ) -> Result<Vec<History>> {
        let (names, states): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
        let locks = names.iter().map(|name| self.lock_name(name));
        let places: Vec<_> = locks.zip(states).collect();
        let mut kept = Vec::with_capacity(names.len());
        for some in places.chunks(JOBS_AT_ONCE) {
            kept.extend(history::load(&self.client, some, since).await?);
        }
        let history =
            |(job, kept): (String, history::Kept)| History { job, runs: kept.runs, kept_from: kept.from };
        Ok(names.into_iter().zip(kept).map(history).collect())
    }
}

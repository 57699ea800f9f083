//! The last runs of the jobs that somebody looks at. The store is asked for those of one at most once a second, however many look.

use crate::listing::PERIOD;
use crate::recent::{Recent, in_time};
use cotter_scheduler::{Entry, Jobs};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// The last runs of a job, as of when the store was last heard.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    /// Oldest first.
    pub(crate) runs: Vec<Entry>,
    /// By this host's clock; `None` if nothing was heard yet.
    pub(crate) as_of: Option<SystemTime>,
    /// Why nothing was heard when it was last asked.
    pub(crate) trouble: Option<String>,
}

/// The histories of the jobs of a group.
#[derive(Debug, Default)]
pub(crate) struct Histories(Mutex<BTreeMap<String, Arc<Recent<History>>>>);

impl Histories {
    /// That of a job which the group has: others would stay here for good.
    pub(crate) async fn of(&self, jobs: &Jobs, job: &str) -> Arc<History> {
        let recent = self.recent(job);
        recent.get(async |last| next(jobs, job, last.clone()).await).await
    }

    fn recent(&self, job: &str) -> Arc<Recent<History>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = || Arc::new(Recent::new(PERIOD, History::default()));
        known.entry(job.to_owned()).or_insert_with(unknown).clone()
    }
}

async fn next(jobs: &Jobs, job: &str, mut history: History) -> History {
    match in_time(jobs.history(job)).await {
        Ok(runs) => history = History { runs, as_of: Some(SystemTime::now()), trouble: None },
        Err(why) => history.trouble = Some(why),
    }
    history
}

//! The log of requests: who has asked for what.

use crate::jobs::{short, store_time};
use crate::notes::{self, Pause};
use crate::{Jobs, Result, UnixTime};

/// A request of an operator that was [logged](Jobs::log).
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// When it was made, by the store's clock.
    pub at: UnixTime,
    /// The operator.
    pub by: String,
    /// The job; `None` for the whole group.
    pub job: Option<String>,
    /// What was asked for: `pause`, `resume`, `trigger`, `stop`, `add-once`, `cancel` or `forget`. Later versions may have others.
    pub action: String,
    /// More about it, such as the reason of a pause, the slot or the arguments of a run, or its id.
    pub about: Option<String>,
}

impl Jobs {
    /// Returns the last requests to all jobs of the group, oldest first, or to one job, with those to the whole group.
    ///
    /// Those that a [named](Self::by) operator has made are logged if they have changed anything, also those to jobs that were forgotten
    /// since. At most 1600 are kept; the oldest ones to a job make way for those to it, and to others that share its note. A request
    /// does not fail because it could not be logged.
    ///
    /// Needs a tokio runtime.
    ///
    /// # Errors
    /// [`ErrorKind::Store`](crate::ErrorKind::Store), [`ErrorKind::NoNotes`](crate::ErrorKind::NoNotes).
    pub async fn log(&self, job: Option<&str>) -> Result<Vec<Logged>> {
        let mut all = notes::log::load(&self.client, &self.group).await?;
        all.retain(|line| job.is_none() || line.job.is_none() || line.job.as_deref() == job);
        all.sort_by_key(|line| line.at);
        Ok(all)
    }

    /// Logs a request that was made.
    pub(crate) async fn has_asked(&self, job: Option<&str>, action: &str, about: String) {
        if !self.is_named {
            return;
        }
        // Whoever has made the request is not told: it is made.
        let Ok(at) = store_time(&self.client).await else { return };
        let about = Some(short(about)).filter(|about| !about.is_empty());
        let (by, job, action) = (self.by.clone(), job.map(str::to_owned), action.to_owned());
        let _ = notes::log::add(&self.client, &self.group, Logged { at, by, job, action, about }).await;
    }
}

pub(crate) fn about_pause(pause: Option<&Pause>) -> String {
    let until = pause.and_then(|pause| pause.until).map(|until| format!("until {until:.0}"));
    let reason = pause.map(|pause| pause.reason.clone()).filter(|reason| !reason.is_empty());
    until.into_iter().chain(reason).collect::<Vec<_>>().join(": ")
}

pub(crate) fn about_arguments<'a>(all: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    let texts: Vec<_> = all.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    texts.join(" ")
}

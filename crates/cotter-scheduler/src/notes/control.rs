//! Requests of operators to the jobs of a group.

use super::{foreign, stamp};
use crate::{Result, UnixTime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All requests to a group: the contents of its note.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Control {
    jobs: BTreeMap<String, JobControl>,
}

/// The requests to one job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobControl {
    #[serde(default)]
    pub(crate) paused: bool,
    /// The end of the last pause: slots before it are dropped.
    #[serde(with = "stamp::maybe", default)]
    pub(crate) resumed_at: Option<UnixTime>,
    /// The operator of the last request.
    #[serde(default)]
    pub(crate) by: String,
    /// The operator who paused it; empty in notes of earlier versions.
    #[serde(default)]
    pub(crate) paused_by: String,
    /// How many runs were requested so far.
    #[serde(default)]
    pub(crate) requests: u64,
}

impl JobControl {
    pub(crate) fn pause(&mut self, by: &str) {
        if !self.paused {
            (self.paused, self.paused_by) = (true, by.to_owned());
        }
    }

    pub(crate) fn resume(&mut self, now: UnixTime) {
        if self.paused {
            (self.paused, self.resumed_at) = (false, Some(now));
            self.paused_by.clear();
        }
    }

    /// The operator who paused it, if it is paused.
    pub(crate) fn paused_by(&self) -> Option<&str> {
        let by = if self.paused_by.is_empty() { &self.by } else { &self.paused_by };
        self.paused.then_some(by.as_str())
    }
}

impl Control {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes).map_err(|e| foreign("requests for the group", &e))
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("requests can be written")
    }

    pub(crate) fn of(&self, job: &str) -> JobControl {
        self.jobs.get(job).cloned().unwrap_or_default()
    }

    pub(crate) fn edit(&mut self, job: &str) -> &mut JobControl {
        self.jobs.entry(job.to_owned()).or_default()
    }

    /// The jobs with changed requests.
    pub(crate) fn changed<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a str> {
        let differs = |(job, control): &(&'a String, &'a JobControl)| before.jobs.get(*job) != Some(*control);
        self.jobs.iter().filter(differs).map(|(job, _)| job.as_str())
    }
}

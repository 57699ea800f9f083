//! What replicas must agree on about a job.

use crate::job::Policy;
use crate::{Job, Trigger, UnixTime};
use std::time::Duration;

/// A job without its work, as one replica brought it.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub(crate) trigger: Trigger,
    pub(crate) policy: Policy,
    pub(crate) hash: String,
    /// The trigger as the note has it.
    pub(crate) text: String,
    /// When the replica was started that brought it, by the store's clock.
    pub(crate) defined_at: UnixTime,
    /// By how much its slots start later.
    pub(crate) shift: Duration,
}

impl Definition {
    pub(crate) fn of(job: &Job, group: &str, defined_at: UnixTime) -> Self {
        Self {
            trigger: job.trigger.clone(),
            policy: job.policy.clone(),
            hash: job.hash(),
            text: job.trigger_text(),
            defined_at,
            shift: job.shift(group),
        }
    }

    /// The larger one is right. A store's clock that went back must not make this one newer than now for ever.
    pub(crate) fn rank(&self, now: UnixTime) -> (u64, UnixTime) {
        (self.policy.generation, self.defined_at.min(now))
    }
}

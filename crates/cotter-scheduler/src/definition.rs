//! The part of a job that replicas must agree on.

use crate::job::Policy;
use crate::{Job, Trigger, UnixTime};
use std::time::Duration;

/// A job without its work, as defined by one replica.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub(crate) trigger: Trigger,
    pub(crate) policy: Policy,
    pub(crate) hash: String,
    /// The trigger as written in the note.
    pub(crate) text: String,
    /// When the defining replica was started, by the store's clock.
    pub(crate) defined_at: UnixTime,
    /// The jitter of the job: how much later than its slots it starts.
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

    /// Precedence over other definitions: the larger one is in effect. It is never later than now, in case the store's clock
    /// went backwards.
    pub(crate) fn rank(&self, now: UnixTime) -> (u64, UnixTime) {
        (self.policy.generation, self.defined_at.min(now))
    }
}

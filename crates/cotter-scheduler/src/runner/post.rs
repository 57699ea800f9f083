//! One job as an attempt at it sees it, and what came of the attempt.

use crate::definition::Definition;
use crate::{Job, UnixTime};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A job as it is defined now. Shared by the runner and the attempt that goes on.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) job: Job,
    pub(super) definition: Definition,
    retired: AtomicBool,
}

impl Post {
    pub(super) fn new(job: Job, definition: Definition) -> Arc<Self> {
        Arc::new(Self { job, definition, retired: AtomicBool::new(false) })
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.job.name
    }

    /// Whether a job means the same as this one.
    pub(super) fn is_same(&self, job: &Job) -> bool {
        let generation = job.policy.generation;
        self.definition.hash == job.hash() && self.definition.policy.generation == generation
    }

    /// Another definition has taken its place: what goes on ends, nothing follows.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }
}

/// What came of looking at a job.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// When to look again.
    pub(super) next: Option<UnixTime>,
    /// Requests up to this one are done with.
    pub(super) handled: u64,
    /// Another definition of it holds.
    pub(super) stands_by: bool,
}

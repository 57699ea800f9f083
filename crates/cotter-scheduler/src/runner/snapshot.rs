//! A job as seen by an attempt, and the result of the attempt.

use crate::decide::Decision;
use crate::definition::Definition;
use crate::notes::State;
use crate::{Job, UnixTime};
use std::sync::Arc;
use tokio::sync::watch;

/// A job and its current definition, shared by the dispatcher and the attempt in progress.
#[derive(Debug)]
pub(super) struct JobSnapshot {
    pub(super) job: Job,
    pub(super) definition: Definition,
    /// Shared by all snapshots of one definition.
    retired: Arc<watch::Sender<bool>>,
}

impl JobSnapshot {
    pub(super) fn new(job: Job, definition: Definition) -> Arc<Self> {
        Arc::new(Self { job, definition, retired: Arc::default() })
    }

    /// The same definition with the work of this job. An attempt in progress keeps the snapshot that it has, and ends with
    /// the definition all the same.
    pub(super) fn renewed(&self, job: Job) -> Arc<Self> {
        Arc::new(Self { job, definition: self.definition.clone(), retired: self.retired.clone() })
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.job.name
    }

    /// Whether a job has the same definition.
    pub(super) fn is_same(&self, job: &Job) -> bool {
        let generation = job.policy.generation;
        self.definition.hash == job.hash() && self.definition.policy.generation == generation
    }

    /// Whether somebody doubts that any replica runs this definition.
    pub(super) fn is_doubted(&self, note: &State) -> bool {
        note.hash == self.definition.hash && note.doubted.is_some()
    }

    /// Marks the definition as replaced: a run in progress ends, and none follows.
    pub(super) fn retire(&self) {
        self.retired.send_replace(true);
    }

    pub(super) fn is_retired(&self) -> bool {
        *self.retired.borrow()
    }

    /// Completes when the definition is replaced.
    pub(super) async fn retired(&self) {
        // The sender lives as long as we do.
        let _ = self.retired.subscribe().wait_for(|retired| *retired).await;
    }
}

/// The result of an attempt.
#[derive(Debug, Default)]
pub(super) struct Observation {
    /// The next check.
    pub(super) next: Option<UnixTime>,
    /// The latest request that is settled.
    pub(super) handled: u64,
    /// Why this replica stands by, if another definition is in effect.
    pub(super) stands_by: Option<String>,
}

impl Observation {
    /// What was decided.
    pub(super) fn of(decision: &Decision, snapshot: &JobSnapshot) -> Self {
        let state = &decision.state;
        let stands_by = decision.stands_by.then(|| snapshot.definition.why_not(state));
        Self { next: decision.next, handled: state.handled, stands_by }
    }
}

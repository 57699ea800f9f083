//! Jobs that are left to hosts with other labels: made known if no such host has done that, so that somebody notices.

use super::attempt::lock_of;
use super::context::{Context, Halt, Stop};
use super::hold::Hold;
use super::register;
use super::snapshot::JobSnapshot;
use crate::Job;
use crate::definition::Definition;
use crate::notes::State;
use std::sync::Arc;
use std::time::Duration;

/// Hosts with the labels that are started at the same time come first: usually, there is nothing to be done.
const PATIENCE: Duration = Duration::from_secs(5);

/// Makes known those that are not, once. It is only shown: what fails is done at the next start, or by another host.
pub(super) async fn make_known(context: Arc<Context>, jobs: Vec<Job>) {
    if jobs.is_empty() {
        return;
    }
    context.clock.sleep(PATIENCE).await;
    let Ok(unknown) = unknown(&context, jobs).await else { return };
    // Before the notes: who finds a note does not look after the name.
    if register(&context, &unknown).await.is_err() {
        return;
    }
    for job in unknown {
        let _ = introduce(&context, job).await;
    }
}

async fn unknown(context: &Context, jobs: Vec<Job>) -> Result<Vec<Job>, Halt> {
    let places = || jobs.iter().map(|job| (context.lock_name(&job.name), String::new())).collect::<Vec<_>>();
    let notes = context.ask(Stop::Starts, || context.settings.client.notes_at(places())).await?;
    let is_unknown = |note: &Option<cotter::Note>| note.as_ref().is_none_or(|note| note.bytes.is_empty());
    Ok(jobs.into_iter().zip(notes).filter(|(_, note)| is_unknown(note)).map(|(job, _)| job).collect())
}

async fn introduce(context: &Arc<Context>, job: Job) -> Result<(), Halt> {
    let (settings, now) = (&context.settings, context.clock.now());
    let definition = Definition::of(&job, &settings.group, &settings.host, now);
    let snapshot = JobSnapshot::new(job, definition);
    let mutex = lock_of(context, &snapshot);
    match context.ask(Stop::Starts, || mutex.try_lock()).await? {
        Some(guard) => Hold::new(context, &snapshot, guard, None).introduce().await,
        // Somebody works at it.
        None => Ok(()),
    }
}

impl Hold<'_> {
    /// Writes the definition as that of a new job, unless there is one. Starts nothing.
    async fn introduce(mut self) -> Result<(), Halt> {
        self.load().await?;
        if self.note.is_none() {
            let now = self.context.measure().await?;
            let requests = self.context.control.borrow().of(self.snapshot.name()).requests;
            let state = State::fresh(&self.snapshot.definition, now, requests);
            self.write(&state, Stop::Starts).await?;
        }
        self.give_back().await;
        Ok(())
    }
}

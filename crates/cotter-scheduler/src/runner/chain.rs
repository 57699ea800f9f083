//! Looking at the jobs that a job follows.

use super::context::{Context, Halt, Stop};
use super::snapshot::JobSnapshot;
use crate::decide::Successes;
use crate::notes::State;
use std::collections::BTreeSet;

/// When those that it follows last succeeded: here, and by the definition in its note. Nothing is read for a job that follows none.
pub(super) async fn successes(
    context: &Context,
    snapshot: &JobSnapshot,
    note: Option<&State>,
) -> Result<Successes, Halt> {
    let here = snapshot.job.policy.after.iter().map(ToString::to_string);
    let names: BTreeSet<_> = here.chain(note.into_iter().flat_map(State::after)).collect();
    if names.is_empty() {
        return Ok(Successes::new());
    }
    let places = || names.iter().map(|job| (context.lock_name(job), String::new())).collect::<Vec<_>>();
    let notes = context.ask(Stop::Starts, || context.settings.client.notes_at(places())).await?;
    let mut successes = Successes::new();
    for (job, note) in names.iter().zip(notes) {
        let state = note.map(|note| State::parse(job, &note.bytes)).transpose()?.flatten();
        successes.extend(state.and_then(|state| state.succeeded).map(|at| (job.clone(), at)));
    }
    Ok(successes)
}

//! Running requests concurrently without tasks.

use crate::backend::{Extension, Grant};
pub(super) use crate::join::all;
use crate::{Error, Result};

/// The number of grants that one script extends. The server does nothing else while a script runs.
const BATCH: usize = 64;

/// Extends grants, with one script for each batch.
pub(super) async fn extend_all<'a, F>(
    grants: &'a [&'a Grant],
    extend: impl Fn(&'a [&'a Grant]) -> F,
) -> Vec<Result<Extension>>
where
    F: Future<Output = Vec<Result<Extension>>>,
{
    let batches = grants.chunks(BATCH).map(|batch| extend_batch(batch, &extend));
    all(batches).await.into_iter().flatten().collect()
}

/// What is refused because of one name is refused for all of a batch, and every lease would end: a value of another program ends
/// a script, an access list may leave out a name, and a node of a cluster runs no script on names of different slots, even if
/// all of them are its own. Then each grant has a script of its own.
async fn extend_batch<'a, F>(
    batch: &'a [&'a Grant],
    extend: &impl Fn(&'a [&'a Grant]) -> F,
) -> Vec<Result<Extension>>
where
    F: Future<Output = Vec<Result<Extension>>>,
{
    let answers = extend(batch).await;
    let refused = |e: &Error| !e.is_retryable() && !e.outcome_unknown();
    if batch.len() == 1 || !answers.iter().flat_map(|answer| answer.as_ref().err()).any(refused) {
        return answers;
    }
    all(batch.chunks(1).map(extend)).await.into_iter().flatten().collect()
}

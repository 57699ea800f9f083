//! The parts of the contract that do not depend on the database.

use super::rules::{BATCH, RETRY, check};
use crate::backend::inflight::InFlight;
use crate::backend::pace::{Pauses, Rests};
use crate::backend::retry::{self, Contend};
use crate::backend::{Acquired, Claim, Extension, Grant, Info, Release, Until};
use crate::{Moment, Result};

/// Acquires a lock. `once` makes a single attempt.
pub(crate) async fn acquire<S: Contend>(
    store: &S,
    info: &Info,
    (claim, until): (&Claim, Until),
    once: impl Future<Output = Result<Option<Grant>>> + Send,
) -> Result<Acquired> {
    check(info, claim)?;
    let granted = match until.moment() {
        None => once.await,
        // Boxed, or the future of a single attempt would have room for it.
        Some(_) => Box::pin(retry::acquire(store, Pauses::up_to(RETRY), claim, until)).await,
    };
    granted.map(Acquired::from)
}

/// Extends grants, many in one request. A request that fails concerns only its own grants.
pub(crate) async fn extend<'a, F>(
    grants: &'a [&'a Grant],
    request: impl Fn(&'a [&'a Grant]) -> F + Send,
) -> Vec<Result<Extension>>
where
    F: Future<Output = Result<Vec<Extension>>> + Send,
{
    let mut answers = Vec::with_capacity(grants.len());
    for batch in grants.chunks(BATCH) {
        match request(batch).await {
            Ok(extensions) => answers.extend(extensions.into_iter().map(Ok)),
            Err(e) => answers.extend(batch.iter().map(|grant| Err(e.clone().with_name(&grant.claim.name)))),
        }
    }
    answers
}

/// The result of a release that was answered on `connection`.
pub(crate) fn released(
    found: Release,
    claim: &Claim,
    (connection, now): (u64, Moment),
    rests: &Rests,
    in_flight: &InFlight,
) -> Release {
    if found == Release::Freed {
        rests.freed(&claim.name, now);
    }
    // A request never arrives behind its release on the connection that carried it. On another one it may.
    let stray = in_flight.stray_until(claim.id, connection, now);
    stray.map_or(found, |until| found.unsettled(until))
}

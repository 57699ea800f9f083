//! Extending grants: their leases are kept alive, and their entries are looked at.

use super::acquire::{Entry, TURNS};
use super::backend::Inner;
use super::leases::{Proof, seconds};
use super::messages::{TxnRequest, TxnResponse};
use super::moving::is_moving;
use super::requests::{MAX_OPERATIONS, TXN, look};
use super::seats::EntryLease;
use crate::backend::{Extension, Grant};
use crate::{LossCause, Result};
use std::collections::BTreeMap;
use std::time::Duration;

/// A grant of a batch: its number in it, and its seat.
pub(super) type Seated<'a> = (usize, &'a Grant, EntryLease);

impl Inner {
    /// Extends grants to at least `ttl` from now: one keepalive for all that share a lease, one request for 100 entries.
    pub(super) async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let mut answers: Vec<_> = grants.iter().map(|_| Ok(Extension::Lost(LossCause::Gone))).collect();
        // By the lease that they have, and the length of the one that they need.
        let mut classes: BTreeMap<(u64, u64), Vec<Seated<'_>>> = BTreeMap::new();
        for (number, grant) in grants.iter().enumerate() {
            let place = self.seats.place(grant.claim.id).unwrap_or_else(|| EntryLease::elsewhere(grant));
            let class = (place.seconds, place.seconds.max(seconds(ttl)));
            classes.entry(class).or_default().push((number, grant, place));
        }
        for ((_, wanted), members) in classes {
            for some in members.chunks(MAX_OPERATIONS / 2) {
                match self.extend_some(some, wanted).await {
                    Ok(some) => some.into_iter().for_each(|(number, answer)| answers[number] = answer),
                    Err(e) => some.iter().for_each(|(number, ..)| answers[*number] = Err(e.clone())),
                }
            }
        }
        answers
    }

    async fn extend_some(&self, some: &[Seated<'_>], wanted: u64) -> Result<Vec<(usize, Result<Extension>)>> {
        let proof = self.leases.proved(wanted).await?;
        self.attach_all(some, proof).await?;
        let each =
            |(_, grant, _): &Seated<'_>| [look(self.entry(&grant.claim)), look(self.mark(grant.claim.id))];
        let answer: TxnResponse =
            self.link.ask(TXN, TxnRequest::of(some.iter().flat_map(each).collect())).await?;
        let mut answers = Vec::with_capacity(some.len());
        for (at, (number, grant, seat)) in some.iter().enumerate().map(|(at, seated)| (at * 2, seated)) {
            let entry = answer.found(at).first().map(Entry::from).filter(|now| now.revision == seat.revision);
            answers.push((
                *number,
                match entry {
                    _ if !answer.found(at + 1).is_empty() => Ok(Extension::Lost(LossCause::Evicted)),
                    None => Ok(Extension::Lost(LossCause::Gone)),
                    Some(entry) => self.extended(grant, *seat, entry, (proof, wanted)),
                },
            ));
        }
        Ok(answers)
    }

    /// The extension of a grant whose entry is there.
    fn extended(
        &self,
        grant: &Grant,
        seat: EntryLease,
        entry: Entry,
        (proof, wanted): (Proof, u64),
    ) -> Result<Extension> {
        if entry.lease == proof.lease {
            self.seats.moved(grant.claim.id, seat, entry.lease, wanted);
            return Ok(Extension::extended(proof.as_of, Some(proof.ttl)));
        }
        let length = self.leases.length_of(entry.lease).unwrap_or(seat.seconds);
        self.seats.moved(grant.claim.id, seat, entry.lease, length);
        Err(is_moving())
    }
}

impl EntryLease {
    /// That of a grant which another connection was given: it is attached to a lease of this one.
    fn elsewhere(grant: &Grant) -> Self {
        let revision = i64::try_from(grant.number / u64::from(TURNS)).unwrap_or(i64::MAX);
        Self { lease: 0, seconds: 0, revision }
    }
}

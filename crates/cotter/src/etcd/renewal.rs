//! Extending grants: their leases are kept alive, and their entries are looked at.

use super::acquire::{Entry, TURNS};
use super::backend::Inner;
use super::leases::{Proof, seconds};
use super::messages::{Target, TxnRequest, TxnResponse};
use super::requests::{MAX_OPERATIONS, TXN, equal, look, nested, put};
use super::seats::EntryLease;
use crate::backend::{Extension, Grant};
use crate::{LossCause, Result};
use std::collections::BTreeMap;
use std::time::Duration;

/// A grant of a batch: its number in it, and its seat.
type Seated<'a> = (usize, &'a Grant, EntryLease);

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
                    Ok(some) => some.into_iter().for_each(|(number, answer)| answers[number] = Ok(answer)),
                    Err(e) => some.iter().for_each(|(number, ..)| answers[*number] = Err(e.clone())),
                }
            }
        }
        answers
    }

    async fn extend_some(&self, some: &[Seated<'_>], wanted: u64) -> Result<Vec<(usize, Extension)>> {
        let proof = self.leases.proved(wanted).await?;
        let to_longer = some.iter().any(|(.., place)| place.seconds != wanted);
        let each = |(_, grant, place): &Seated<'_>| {
            let entry = match to_longer {
                true => self.put_on(grant, *place, proof),
                false => look(self.entry(&grant.claim)),
            };
            [entry, look(self.mark(grant.claim.id))]
        };
        let answer: TxnResponse =
            self.link.ask(TXN, TxnRequest::of(some.iter().flat_map(each).collect())).await?;
        let mut answers = Vec::with_capacity(some.len());
        for (at, (number, grant, place)) in some.iter().enumerate().map(|(at, seated)| (at * 2, seated)) {
            if !answer.found(at + 1).is_empty() {
                answers.push((*number, Extension::Lost(LossCause::Evicted)));
                continue;
            }
            let is_there = match to_longer {
                true => answer.has_succeeded(at),
                false => answer.found(at).first().is_some_and(|kv| place.is_of(kv.into(), proof)),
            };
            if is_there && to_longer {
                self.seats.moved(grant.claim.id, proof.lease, wanted);
            }
            let extended = Extension::extended(proof.as_of, Some(proof.ttl));
            answers.push((*number, if is_there { extended } else { Extension::Lost(LossCause::Gone) }));
        }
        Ok(answers)
    }

    /// Attaches an entry to another lease. Its place and its token stay.
    fn put_on(&self, grant: &Grant, place: EntryLease, proof: Proof) -> super::messages::Operation {
        let key = self.entry(&grant.claim);
        let is_ours = equal(key.clone(), Target::Created(place.revision));
        let stays = equal(self.mark(grant.claim.id), Target::Version(0));
        nested(vec![is_ours, stays], vec![put(key, self.value(&grant.claim).as_bytes(), proof.lease)])
    }
}

impl EntryLease {
    /// That of a grant which another connection was given: it is attached to a lease of this one.
    fn elsewhere(grant: &Grant) -> Self {
        let revision = i64::try_from(grant.number / u64::from(TURNS)).unwrap_or(i64::MAX);
        Self { lease: 0, seconds: 0, revision }
    }

    /// Whether the entry is that of the seat, and the lease that was proved is the one that it is attached to.
    fn is_of(&self, entry: Entry, proof: Proof) -> bool {
        entry.revision == self.revision && entry.lease == proof.lease
    }
}

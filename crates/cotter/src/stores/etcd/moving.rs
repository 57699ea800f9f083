//! Moving entries to another lease: that of the present term, or a longer one.
//!
//! The place of an entry and its token stay, because its key does. A request to move it names the lease that it is moved from: one
//! that arrives late, when the entry was moved once more, must not take it back to a lease that nobody keeps alive.

use super::acquire::{Entry, TRIES};
use super::backend::Inner;
use super::errors::Failure;
use super::leases::Proof;
use super::messages::{Compare, Target, TxnRequest, TxnResponse};
use super::renewal::Seated;
use super::requests::{TXN, equal, look, nested, put};
use crate::backend::Claim;
use crate::{Error, ErrorKind, Result};

impl Inner {
    /// Attaches an entry to the lease that was proved, if it is attached to another one. `None` if it is gone.
    pub(super) async fn attach(
        &self,
        claim: &Claim,
        mut entry: Entry,
        proof: Proof,
    ) -> Result<Option<Entry>> {
        for _ in 0..TRIES {
            if entry.lease == proof.lease {
                return Ok(Some(entry));
            }
            let key = self.entry(claim);
            let txn = TxnRequest {
                compare: self.is_unmoved(claim, entry),
                success: vec![put(key.clone(), self.value(claim).as_bytes(), proof.lease)],
                failure: vec![look(key)],
            };
            let answer = self.ask_to_move(txn, proof).await?;
            entry = match answer.found(0) {
                _ if answer.succeeded => Entry { lease: proof.lease, ..entry },
                [now] if now.create_revision == entry.revision => now.into(),
                _ => return Ok(None),
            };
        }
        Err(is_moving().with_outcome_unknown())
    }

    /// Attaches those entries to the lease that are attached to other ones. What became of them is seen afterwards.
    pub(super) async fn attach_all(&self, some: &[Seated<'_>], proof: Proof) -> Result<()> {
        let moves: Vec<_> = some
            .iter()
            .filter(|(.., seat)| seat.lease != proof.lease)
            .map(|(_, grant, seat)| {
                let from = Entry { revision: seat.revision, lease: seat.lease };
                let entry = put(self.entry(&grant.claim), self.value(&grant.claim).as_bytes(), proof.lease);
                nested(self.is_unmoved(&grant.claim, from), vec![entry])
            })
            .collect();
        if !moves.is_empty() {
            self.ask_to_move(TxnRequest::of(moves), proof).await?;
        }
        Ok(())
    }

    async fn ask_to_move(&self, txn: TxnRequest, to: Proof) -> Result<TxnResponse> {
        let answer: Result<TxnResponse, Failure> = self.link.ask(TXN, txn).await;
        if answer.as_ref().is_err_and(Failure::is_lease_not_found) {
            self.leases.forget(to.lease);
        }
        Ok(answer?)
    }

    /// True if the entry is there, on the lease that it was seen on, and was not evicted: then it ends with that lease. The lease
    /// of a grant from another connection is not known, it is 0.
    fn is_unmoved(&self, claim: &Claim, from: Entry) -> Vec<Compare> {
        let key = self.entry(claim);
        let mut compare = vec![
            equal(key.clone(), Target::Created(from.revision)),
            equal(self.mark(claim.id), Target::Version(0)),
        ];
        compare.extend((from.lease != 0).then(|| equal(key, Target::Lease(from.lease))));
        compare
    }
}

/// The error for an entry that is on another lease than was seen: a request whose answer was lost has moved it.
pub(super) fn is_moving() -> Error {
    Error::new(ErrorKind::Unavailable, "the entry is being moved to another lease; try again")
        .with_backend(super::SCHEME)
}

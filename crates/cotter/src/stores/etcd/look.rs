//! Looking at the line from an entry in it.
//!
//! # Asking one member only
//! A majority has to confirm the answer to a usual request, which takes a second round trip, and waits for the writes of others. Whoever
//! was woken by a member needs less: no entry is ever created before another one that is there, so a member that knows the entry
//! and none before it is right, however far it is behind. Only what it does not know may be missing because it is behind, so
//! its answer counts only if it is as new as the entry and as the last word of the watch.
//!
//! That the entry still exists is as certain as without it: its lease was proved by the leader, and whoever deletes the entry behind our
//! back does so at any moment, also right after an answer. The watch of the holder and its renewals tell that. On which lease the
//! entry is, the member may know from before it was moved, so that is not taken from its answer.

use super::acquire::{Ahead, Entry, Standing};
use super::backend::Inner;
use super::messages::{Operation, TxnRequest, TxnResponse};
use super::requests::{TXN, here, last, look};
use crate::Result;
use crate::backend::Claim;

impl Inner {
    /// Looks at the entry before one that was created at a known revision, and whether that one is still there.
    pub(super) async fn look_before(&self, claim: &Claim, own: Entry) -> Result<Standing> {
        if claim.mode.is_permits() {
            return self.look_for_permits(claim).await;
        }
        let answer: TxnResponse = self.link.ask(TXN, TxnRequest::of(self.questions(claim, own))).await?;
        Ok(standing(own, &answer))
    }

    /// The same, as the member knows it that we are connected to, with the revision of its answer. `None` if it does not
    /// know enough: it is behind the entry, or behind the revision that a watch has `told`. The lease of the entry stays the one
    /// that is known already.
    pub(super) async fn look_here(
        &self,
        claim: &Claim,
        own: Entry,
        told: i64,
    ) -> Result<Option<(Standing, i64)>> {
        if claim.mode.is_permits() {
            return Ok(None);
        }
        let questions = self.questions(claim, own).into_iter().map(here).collect();
        let answer: TxnResponse = self.link.ask(TXN, TxnRequest::of(questions)).await?;
        Ok(is_recent(own, told, &answer).then(|| (standing_here(own, &answer), answer.revision())))
    }

    fn questions(&self, claim: &Claim, own: Entry) -> Vec<Operation> {
        let blockers = self.blockers(claim);
        let before = blockers.iter().map(|line| last(line, 1, own.revision - 1));
        [look(self.entry(claim))].into_iter().chain(before).collect()
    }
}

/// Whether an answer knows the entry, and all that a watch has told.
fn is_recent(own: Entry, told: i64, answer: &TxnResponse) -> bool {
    answer.revision() >= told.max(own.revision)
}

/// The same as a member has it that may be behind.
fn standing_here(own: Entry, answer: &TxnResponse) -> Standing {
    match standing(own, answer) {
        Standing::Holds(_) => Standing::Holds(own),
        Standing::Behind(_, ahead) => Standing::Behind(own, ahead),
        other => other,
    }
}

fn standing(own: Entry, answer: &TxnResponse) -> Standing {
    match (answer.found(0), answer.latest(1)) {
        ([now], _) if now.create_revision != own.revision => Standing::Gone,
        ([now], None) => Standing::Holds(now.into()),
        ([now], Some(before)) => Standing::Behind(now.into(), Ahead::Entry(before.key.clone())),
        _ => Standing::Gone,
    }
}

#[cfg(test)]
mod tests {
    use super::super::messages::{Header, KeyValue, Outcome, RangeResponse, Response};
    use super::*;

    const OWN: Entry = Entry { revision: 20, lease: 1 };

    /// The line at this revision, with the entries that were created at these ones.
    fn answer(revision: i64, own: Option<i64>, before: &[i64]) -> TxnResponse {
        let range = |created: &[i64]| {
            let kvs =
                created.iter().map(|at| KeyValue { create_revision: *at, ..KeyValue::default() }).collect();
            Outcome { response: Some(Response::Range(RangeResponse { kvs, ..RangeResponse::default() })) }
        };
        let mut responses = vec![range(own.as_slice())];
        responses.extend(before.iter().map(|at| range(&[*at])));
        let header = Some(Header { revision, ..Header::default() });
        TxnResponse { header, succeeded: true, responses }
    }

    #[test]
    fn a_member_that_is_behind_the_entry_is_not_believed() {
        // It does not know the entry yet: that is not its end.
        assert!(!is_recent(OWN, 0, &answer(19, None, &[])), "violation[needless-loss]: behind the entry");
        assert!(is_recent(OWN, 0, &answer(20, Some(20), &[])));
    }

    #[test]
    fn a_member_that_is_behind_the_watch_is_not_believed() {
        // It still knows the one before, whose end was told: nothing would wake the waiter again.
        let behind = answer(24, Some(20), &[10]);
        assert!(!is_recent(OWN, 25, &behind), "violation[stuck-waiter]: behind the watch");
        assert!(is_recent(OWN, 25, &answer(25, Some(20), &[])));
    }

    /// Otherwise it would be taken to last for as long as a lease on which it was before.
    #[test]
    fn a_member_that_is_behind_does_not_tell_the_lease() {
        for before in [&[][..], &[10]] {
            let here = standing_here(OWN, &answer(30, Some(20), before));
            let (Standing::Holds(own) | Standing::Behind(own, _)) = here else { panic!("{here:?}") };
            assert_eq!((own.revision, own.lease), (20, 1), "violation[overlap]: {here:?}");
        }
    }

    #[test]
    fn the_last_of_those_before_is_waited_for() {
        let ahead = |before: &[i64]| match standing(OWN, &answer(30, Some(20), before)) {
            Standing::Holds(_) => "holds",
            Standing::Behind(..) => "waits",
            Standing::Refused | Standing::Gone => "gone",
        };
        assert_eq!((ahead(&[]), ahead(&[10]), ahead(&[10, 15])), ("holds", "waits", "waits"));
        let last = answer(30, Some(20), &[15, 10]);
        assert_eq!(last.latest(1).unwrap().create_revision, 15);
        for own in [None, Some(25)] {
            let gone = standing(OWN, &answer(30, own, &[]));
            assert!(matches!(gone, Standing::Gone), "violation[overlap]: {gone:?}");
        }
    }
}

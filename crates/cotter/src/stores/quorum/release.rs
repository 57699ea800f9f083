//! Releasing at all members, the silent ones too.

use super::backend::Quorum;
use super::rounds::{Ballot, Round, Said};
use super::shortage::no_quorum;
use crate::backend::{Backend, Claim, ClaimId, Found, Leave, Release};
use crate::{Error, Moment, Result};
use std::sync::Arc;

/// The result of releasing one attempt.
#[derive(Default)]
pub(super) struct Undone {
    said: Said,
    /// Until then, something may be left at a member, or a request may arrive.
    pub(super) open: Option<Moment>,
    failed: Option<Error>,
}

impl Quorum {
    /// Releases an attempt wherever it was sent. Members that are known to be silent are told, but not waited for.
    pub(super) async fn undo(&self, id: ClaimId, round: &Claim, leave: Leave) -> Undone {
        let begun = self.shared.rounds.with(id, round.id, |r| (r.asked(), r.ends, r.leave(leave)));
        let Some((seats, ends, leave)) = begun else { return Undone::default() };
        let release = |_, backend: Arc<dyn Backend>| async move { backend.release(round, leave).await };
        let heard = |answers: &[Option<Result<Release>>]| {
            let silent = |seat: &usize| !self.seats.is_awake(*seat);
            answers.iter().zip(&seats).all(|(answer, seat)| answer.is_some() || silent(seat))
        };
        let answers = self.seats.ask(&seats, self.seats.limit(round.ttl), release, heard).await;
        let now = self.seats.now();
        let mut undone = Undone::default();
        let is_left = self.shared.rounds.with(id, round.id, |r| {
            for (seat, answer) in seats.iter().zip(answers) {
                undone.count(answer, &mut r.ballots[*seat], ends.max(r.ends), now);
            }
            r.said = r.said.and(undone.said);
            !r.asked().is_empty()
        });
        if is_left == Some(false) {
            self.shared.rounds.forget(id, round.id);
        }
        undone
    }

    /// Releases once more what the earlier attempts of a claim that waits may have left at members that answer again. These votes would
    /// keep everybody out until they end, the claim itself among them.
    pub(super) async fn undo_again(&self, id: ClaimId) {
        for round in self.shared.rounds.of(id).into_iter().filter(|round| round.won.is_none()) {
            if round.asked().iter().any(|seat| self.seats.is_awake(*seat)) {
                self.undo(id, &round.claim, Leave::default()).await;
            }
        }
    }

    /// Releases all attempts of a claim.
    pub(super) async fn release_all(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let (mut found, mut open) = (Release::NotHeld, None);
        for round in self.shared.rounds.of(claim.id) {
            let leave = if round.won.is_some() { leave } else { Leave::default() };
            let undone = self.undo(claim.id, &round.claim, leave).await;
            if round.won.is_some() {
                self.shared.rests.freed(&claim.name, self.seats.now());
                found = self.found(&round, &undone)?;
            }
            open = open.max(undone.open);
        }
        Ok(open.map_or(found, |until| found.unsettled(until)))
    }

    /// Whether a majority still held a claim, as far as the members have answered.
    fn found(&self, round: &Round, undone: &Undone) -> Result<Release> {
        let (majority, votes) = (self.seats.majority(), round.votes().count());
        let silent = votes.saturating_sub(undone.said.answered);
        let Said { answered, freed, evicted } = round.said.and(undone.said);
        if freed >= majority {
            return Ok(Release::Freed);
        }
        if freed + silent >= majority {
            // One whose request may arrive later is asked again after its answer.
            let of = self.seats.len();
            let counts = (answered.min(of), of, majority);
            let error = no_quorum(counts, None, undone.failed.as_ref());
            return Err(error.with_outcome_unknown().with_name(&round.claim.name));
        }
        Ok(if freed + evicted >= majority { Release::Evicted } else { Release::NotHeld })
    }
}

impl Round {
    /// How to leave it: whoever has won may have used the first token.
    fn leave(&mut self, leave: Leave) -> Leave {
        self.used = self.used.max(leave.used).max(u16::from(self.won.is_some()));
        Leave { used: self.used, ..leave }
    }
}

impl Undone {
    fn count(&mut self, answer: Option<Result<Release>>, ballot: &mut Ballot, ends: Moment, now: Moment) {
        let until = match answer {
            Some(Ok(released)) => {
                self.said.answered += 1;
                self.said.freed += usize::from(released.found() == Found::Held);
                self.said.evicted += usize::from(released.found() == Found::Evicted);
                match released {
                    Release::Unsettled { until, .. } => {
                        *ballot = Ballot::Unknown;
                        Some(until)
                    }
                    // The request that was not answered may come yet.
                    Release::NotHeld if matches!(ballot, Ballot::Unknown) => Some(ends),
                    _ => None,
                }
            }
            Some(Err(e)) => {
                self.failed = Some(e);
                Some(ends)
            }
            None => Some(ends),
        };
        let until = until.filter(|until| *until > now);
        if until.is_none() {
            *ballot = Ballot::Empty;
        }
        self.open = self.open.max(until);
    }
}

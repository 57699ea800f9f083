//! Extending grants by a majority, and asking the members that have no vote for them.

use super::backend::Quorum;
use super::rounds::{Ballot, Round};
use super::shortage::no_quorum;
use crate::backend::{Backend, Extension, Grant, Leave};
use crate::join::all;
use crate::{Error, LossCause, Moment, Result};
use std::sync::Arc;
use std::time::Duration;

/// The renewal of one grant.
struct Renewal<'a> {
    grant: &'a Grant,
    round: Round,
    /// The times that members have given.
    left: Vec<Duration>,
    /// The members that hold on to it, as far as is known.
    stay: Vec<usize>,
    answered: usize,
    failed: Option<Error>,
    /// Why members no longer have it.
    lost: LossCause,
}

impl Quorum {
    /// Extends all of these grants, with one request to each member.
    pub(super) async fn extend_all(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let rounds = grants.iter().map(|grant| self.shared.rounds.won(grant.claim.id));
        let mut renewals: Vec<_> =
            grants.iter().zip(rounds).map(|(grant, round)| Some(Renewal::of(grant, round?))).collect();
        let as_of = self.seats.now();
        self.ask_voters(&mut renewals, ttl).await;
        // At the same time: a member without a vote takes its time for each of them.
        let concluded = renewals.into_iter().map(|renewal| async move {
            match renewal {
                Some(renewal) => self.conclude(renewal, ttl, as_of).await,
                None => Ok(Extension::Lost(LossCause::Gone)),
            }
        });
        all(concluded).await
    }

    async fn ask_voters(&self, renewals: &mut [Option<Renewal<'_>>], ttl: Duration) {
        let votes: Vec<Vec<(usize, Grant)>> = (0..self.seats.len())
            .map(|seat| {
                let vote = |(i, r): (usize, &Option<Renewal<'_>>)| {
                    Some((i, r.as_ref()?.round.ballots[seat].grant()?.clone()))
                };
                renewals.iter().enumerate().filter_map(vote).collect()
            })
            .collect();
        let seats: Vec<_> = (0..votes.len()).filter(|seat| !votes[*seat].is_empty()).collect();
        let extend = |seat: usize, backend: Arc<dyn Backend>| {
            let votes: Vec<_> = votes[seat].iter().map(|(_, vote)| vote).collect();
            async move { Ok(backend.extend(&votes, ttl).await) }
        };
        let heard = |answers: &[Option<Result<_>>]| self.seats.have_answered(&seats, answers);
        let answers = self.seats.ask(&seats, self.seats.limit(ttl), extend, heard).await;
        for (seat, answer) in seats.iter().zip(answers) {
            let answers = answer.and_then(Result::ok).map(|all| all.into_iter().map(Some).collect());
            let answers: Vec<_> = answers.unwrap_or_else(|| votes[*seat].iter().map(|_| None).collect());
            for ((i, _), answer) in votes[*seat].iter().zip(answers) {
                renewals[*i].as_mut().expect("it has voted").count(*seat, answer);
            }
        }
    }

    /// A majority of those that have voted must hold on to the grant: others may have had it in between.
    async fn conclude(&self, mut renewal: Renewal<'_>, ttl: Duration, as_of: Moment) -> Result<Extension> {
        let (id, round) = (renewal.grant.claim.id, renewal.round.claim.id);
        if renewal.stay.len() < self.seats.majority() {
            return Ok(Extension::Lost(renewal.lost));
        }
        self.shared.rounds.with(id, round, |r| r.keep(&renewal.stay));
        let added = self.top_up(&renewal, ttl).await;
        renewal.left.extend(added);
        renewal.round.confirmed.set(renewal.left.len());
        match self.held_by_a_majority(std::mem::take(&mut renewal.left)) {
            Some(left) if left >= ttl => {
                self.shared.rounds.with(id, round, |r| r.ends = r.ends.max(as_of + left));
                Ok(Extension::extended(as_of, Some(left)))
            }
            _ => {
                let counts = (renewal.answered, self.seats.len(), self.seats.majority());
                Err(no_quorum(counts, None, renewal.failed.as_ref()).with_name(&renewal.grant.claim.name))
            }
        }
    }

    /// Members without a vote for the grant take the claim and its number in one step.
    async fn top_up(&self, renewal: &Renewal<'_>, ttl: Duration) -> Vec<Duration> {
        let (id, round) = (renewal.grant.claim.id, &renewal.round.claim);
        let missing = self.shared.rounds.with(id, round.id, |r| {
            let lacks = |seat: &usize| r.ballots[*seat].grant().is_none() && self.seats.is_awake(*seat);
            let missing: Vec<_> = (0..r.ballots.len()).filter(lacks).collect();
            missing.iter().for_each(|seat| r.ballots[*seat] = Ballot::Sent);
            missing
        });
        let missing = missing.unwrap_or_default();
        if missing.is_empty() {
            return Vec::new();
        }
        // What an earlier attempt has left there would keep this one out.
        let earlier = self.shared.rounds.of(id).into_iter().filter(|r| r.won.is_none());
        for left in earlier.collect::<Vec<_>>() {
            self.undo(id, &left.claim, Leave::default()).await;
        }
        let mut claim = round.clone();
        claim.ttl = ttl;
        let answers = self.take(&claim, &missing, renewal.grant.number, 0).await;
        let votes = self.record(id, round, &missing, answers);
        votes.into_iter().filter_map(|(_, vote)| vote.ttl).collect()
    }
}

impl<'a> Renewal<'a> {
    fn of(grant: &'a Grant, round: Round) -> Self {
        Self {
            grant,
            round,
            left: Vec::new(),
            stay: Vec::new(),
            answered: 0,
            failed: None,
            lost: LossCause::Gone,
        }
    }

    fn count(&mut self, seat: usize, answer: Option<Result<Extension>>) {
        self.answered += usize::from(matches!(answer, Some(Ok(_))));
        match answer {
            Some(Ok(Extension::Extended { ttl, .. })) => {
                self.left.extend(ttl);
                self.stay.push(seat);
            }
            Some(Ok(Extension::Lost(LossCause::Evicted))) => self.lost = LossCause::Evicted,
            Some(Ok(Extension::Lost(_))) => {}
            // One that does not answer still has what it gave.
            Some(Err(e)) => {
                self.failed = Some(e);
                self.stay.push(seat);
            }
            None => self.stay.push(seat),
        }
    }
}

impl Round {
    /// Only these members hold on to it.
    fn keep(&mut self, stay: &[usize]) {
        for (seat, ballot) in self.ballots.iter_mut().enumerate() {
            if ballot.grant().is_some() && !stay.contains(&seat) {
                *ballot = Ballot::Empty;
            }
        }
    }
}

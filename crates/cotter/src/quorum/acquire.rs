//! One attempt at all members, in two phases.
//!
//! 1. Each member takes the claim, and counts.
//! 2. Unless a majority stands at the largest number already, the members that granted raise their counters to it, each
//!    only while it still holds the claim.
//!
//! Many waiters that ask all members at the same time share their votes, and nobody has a majority. So those that have met
//! this ask one member first, which is the same for all of them, and the others only if it has granted.

use super::backend::Quorum;
use super::rounds::{Ballot, Round};
use super::seats::member;
use super::shortage::no_quorum;
use super::voting::Tally;
use crate::backend::{Acquired, Backend, Claim, Grant, Leave, Votes};
use crate::{Error, Moment, Result};
use std::sync::Arc;
use std::time::Duration;

/// In which order an attempt asks the members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    AllAtOnce,
    /// The first one, and all others if it is not busy.
    OneFirst,
}

/// The result of an attempt.
pub(super) enum Tried {
    Granted(Grant),
    Failed {
        acquired: Acquired,
        /// Others have asked at the same time, and nobody may have won.
        split: bool,
    },
    /// Too few members vote at the moment.
    Abstained(Error),
}

impl Quorum {
    /// Tries once. A claim that is granted already gets the same grant.
    pub(super) async fn try_once(&self, claim: &Claim, order: Order) -> Result<Tried> {
        self.info.supports(claim.mode)?;
        if let Some(round) = self.shared.rounds.won(claim.id) {
            if let Some(grant) = self.again(claim, &round).await {
                return Ok(Tried::Granted(grant));
            }
            self.undo(claim.id, &round.claim, Leave::default()).await;
        }
        self.round(claim, order).await
    }

    async fn round(&self, claim: &Claim, order: Order) -> Result<Tried> {
        let (id, round, seats) = (claim.id, claim.renewed(), self.seats.awake());
        let as_of = self.seats.now();
        self.begin(claim, &round, as_of);
        let (first, others) = seats.split_at(usize::from(order == Order::OneFirst));
        let (tally, mut votes) = self.ask_for_votes(id, &round, first, Tally::default()).await;
        if tally.busy > 0 {
            self.shared.rounds.forget(id, round.id);
            return Ok(Tried::Failed { acquired: Acquired::Busy, split: false });
        }
        let (tally, more) = self.ask_for_votes(id, &round, others, tally).await;
        votes.extend(more);
        if votes.len() >= self.seats.majority()
            && let Some(won) = self.agree(&round, &mut votes).await
        {
            let votes = self.shared.rounds.with(id, round.id, |r| r.win(won, votes));
            return Ok(Tried::Granted(granted(claim, won, as_of, claim.ttl, votes)));
        }
        let undone = self.undo(id, &round, Leave::default()).await;
        if tally.granted + tally.busy >= self.seats.majority() {
            let acquired = undone.open.map_or(Acquired::Busy, Acquired::unsettled);
            return Ok(Tried::Failed { acquired, split: tally.granted > 0 });
        }
        let counts = (tally.granted + tally.busy, self.seats.len(), self.seats.majority());
        let error = no_quorum(counts, tally.abstains, tally.failed.as_ref()).with_name(&claim.name);
        let error = if undone.open.is_some() { error.with_outcome_unknown() } else { error };
        match tally.abstains {
            Some(_) if error.is_retryable() => Ok(Tried::Abstained(error)),
            _ => Err(error),
        }
    }

    /// Registers the attempt, before anything of it is sent.
    fn begin(&self, claim: &Claim, round: &Claim, as_of: Moment) {
        let ballots = vec![Ballot::Empty; self.seats.len()];
        let (ends, confirmed) = (as_of + claim.ttl, Votes::new(0, self.seats.len()));
        let round = Round { claim: round.clone(), ballots, ends, won: None, used: 0, confirmed };
        self.shared.rounds.begin(claim.id, round);
    }

    /// Phase 2: a majority stands at the largest number, or nobody has won. Returns the first token and the turns.
    async fn agree(&self, round: &Claim, votes: &mut Vec<(usize, Grant)>) -> Option<(u64, u16)> {
        let (number, majority) = (votes.iter().map(|(_, v)| v.number).max()?, self.seats.majority());
        let agreed = |votes: &[(usize, Grant)]| votes.iter().filter(|(_, v)| v.number == number).count();
        if agreed(votes) < majority {
            *votes = self.raise(round.ttl, votes, number).await;
        }
        let turns = votes.iter().filter(|(_, v)| v.number == number).map(|(_, v)| v.turns).min()?;
        (agreed(votes) >= majority).then_some((number, turns))
    }

    /// Raises what these members have granted. Returns what still stands.
    async fn raise(&self, ttl: Duration, votes: &[(usize, Grant)], number: u64) -> Vec<(usize, Grant)> {
        let seats: Vec<_> = votes.iter().map(|(seat, _)| *seat).collect();
        let raise = |seat, backend: Arc<dyn Backend>| async move {
            let (_, vote) = votes.iter().find(|(s, _)| *s == seat).expect("it has voted");
            match vote.number >= number {
                true => Ok(Some(vote.clone())),
                false => member(&*backend).raise(vote, number).await,
            }
        };
        let answers = self.seats.ask(&seats, self.seats.limit(ttl), raise, |_| false).await;
        seats.into_iter().zip(answers).filter_map(|(seat, a)| Some((seat, a?.ok()??))).collect()
    }

    /// The grant of this claim as it stands now, if a majority still stands by it.
    async fn again(&self, claim: &Claim, round: &Round) -> Option<Grant> {
        let (as_of, won) = (self.seats.now(), round.won?);
        let votes: Vec<_> = round.votes().map(|(seat, v)| (seat, v.clone())).collect();
        let seats: Vec<_> = votes.iter().map(|(seat, _)| *seat).collect();
        let look = |seat, backend: Arc<dyn Backend>| {
            let vote = votes.iter().find(|(s, _)| *s == seat).map(|(_, v)| v.clone()).expect("it has voted");
            async move { member(&*backend).raise(&vote, vote.number).await }
        };
        let answers = self.seats.ask(&seats, self.seats.limit(claim.ttl), look, |_| false).await;
        let left: Vec<_> = answers.into_iter().filter_map(|a| a?.ok()??.ttl).collect();
        round.confirmed.set(left.len());
        let votes = Some(round.confirmed.clone());
        Some(granted(claim, won, as_of, self.held_by_a_majority(left)?, votes))
    }

    /// The time for which a majority holds on to a claim, from the times that the members have given.
    pub(super) fn held_by_a_majority(&self, mut left: Vec<Duration>) -> Option<Duration> {
        left.sort_unstable_by(|a, b| b.cmp(a));
        left.get(self.seats.majority() - 1).copied()
    }
}

impl Round {
    fn win(&mut self, won: (u64, u16), votes: Vec<(usize, Grant)>) -> Votes {
        self.won = Some(won);
        self.confirmed.set(votes.len());
        for (seat, vote) in votes {
            self.ballots[seat] = Ballot::Cast(vote);
        }
        self.confirmed.clone()
    }
}

fn granted(
    claim: &Claim,
    (number, turns): (u64, u16),
    as_of: Moment,
    ttl: Duration,
    votes: Option<Votes>,
) -> Grant {
    let mut grant = Grant::new(claim.clone(), number, as_of);
    (grant.turns, grant.ttl, grant.votes) = (turns, Some(ttl), votes);
    grant
}

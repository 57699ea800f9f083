//! One attempt at all members, in two phases.
//!
//! 1. Each member takes the claim, and counts.
//! 2. Unless a majority stands at the largest number already, the members that granted raise their counters to it, each
//!    only while it still holds the claim.
//!
//! A member gives no number to two claims. Of several that share the name, each may find that another one has the largest
//! number at some member; then it gets a larger one there, and asks the others for that. So the second phase of a share may
//! take several rounds.
//!
//! Many waiters that ask all members at the same time share their votes, and nobody has a majority. So those that have met
//! this ask one member first, which is the same for all of them, and the others only if it has granted.

use super::backend::Quorum;
use super::rounds::{Ballot, Round, Said};
use super::seats::member;
use super::shortage::no_quorum;
use super::voting::Tally;
use crate::backend::{Acquired, Backend, Claim, Grant, Leave, Mode, Votes};
use crate::{Error, Moment, Result};
use std::sync::Arc;
use std::time::Duration;

/// From its second round on, a share asks for a number that is up to so much beyond the largest: of several that ask at once,
/// the one with the largest number gets it at all members. It doubles with each round, up to the second value; counters must
/// not get ahead of the clocks that may have to replace them.
const BEYOND: (u64, u64) = (8, 64);
/// The rounds after which an attempt is given up, and made again later.
const ROUNDS: usize = 64;

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
        if let Some(error) = tally.elsewhere {
            let undone = self.undo(id, &round, Leave::default()).await;
            let error = error.with_name(&claim.name);
            return Err(if undone.open.is_some() { error.with_outcome_unknown() } else { error });
        }
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
        let round = Round {
            claim: round.clone(),
            ballots,
            ends,
            won: None,
            used: 0,
            said: Said::default(),
            confirmed,
        };
        self.shared.rounds.begin(claim.id, round);
    }

    /// Phase 2: a majority stands at one number, or nobody has won. Returns the first token and the turns.
    async fn agree(&self, round: &Claim, votes: &mut Vec<(usize, Grant)>) -> Option<(u64, u16)> {
        let (majority, mut beyond) = (self.seats.majority(), 0);
        for _ in 0..ROUNDS {
            if let Some(won) = agreed(round.mode, votes, majority) {
                return Some(won);
            }
            let largest = votes.iter().map(|(_, v)| v.number).max()?;
            *votes = self.raise(round.ttl, votes, largest + random_up_to(beyond)).await;
            if votes.len() < majority {
                return None;
            }
            beyond = (beyond * 2).clamp(BEYOND.0, BEYOND.1);
        }
        None
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

/// The number that a majority stands at, with the turns that all of it has. A share may be beyond it at other members, where it
/// had to make way for others; what holds the name alone stands nowhere beyond its token.
fn agreed(mode: Mode, votes: &[(usize, Grant)], majority: usize) -> Option<(u64, u16)> {
    let numbers = || votes.iter().map(|(_, v)| v.number);
    let largest = numbers().max()?;
    let is_agreed = |number: &u64| numbers().filter(|n| n == number).count() >= majority;
    let number = numbers().filter(|n| mode != Mode::Exclusive || *n == largest).find(is_agreed)?;
    let turns = votes.iter().filter(|(_, v)| v.number == number).map(|(_, v)| v.turns).min()?;
    Some((number, turns))
}

fn random_up_to(most: u64) -> u64 {
    match most {
        0 => 0,
        _ => crate::random::between(1.0, most as f64) as u64,
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

//! One attempt at all members, in two phases.
//!
//! 1. Each member takes the claim, and counts.
//! 2. Unless a majority stands at the largest number already, the members that granted raise their counters to it, each
//!    only while it still holds the claim.

use super::backend::Quorum;
use super::rounds::{Ballot, Round};
use super::seats::{Answers, member};
use super::shortage::no_quorum;
use crate::backend::{Acquired, Backend, Claim, ClaimId, Grant, Leave, Vote};
use crate::{Error, Moment, Result};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The members that are slower than a majority have this much longer than twice its time.
const GRACE: Duration = Duration::from_millis(1);

/// What came of an attempt.
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

/// The answers of the members to a claim.
#[derive(Default)]
struct Tally {
    granted: usize,
    busy: usize,
    abstains: Option<Duration>,
    failed: Option<Error>,
}

impl Tally {
    fn of(answers: &[Option<Result<Vote>>]) -> Self {
        let mut tally = Self::default();
        for answer in answers.iter().flatten() {
            match answer {
                Ok(Vote::Granted(_)) => tally.granted += 1,
                Ok(Vote::Busy) => tally.busy += 1,
                // A quorum is there when the first of them comes back.
                Ok(Vote::Abstains(left)) => {
                    tally.abstains = Some(tally.abstains.map_or(*left, |known| known.min(*left)));
                }
                Err(e) => {
                    // An error that waiting does not mend says more.
                    if tally.failed.as_ref().is_none_or(|known| known.is_retryable() && !e.is_retryable()) {
                        tally.failed = Some(e.clone());
                    }
                }
            }
        }
        tally
    }
}

impl Quorum {
    /// Tries once. A claim that is granted already gets the same grant.
    pub(super) async fn try_once(&self, claim: &Claim) -> Result<Tried> {
        self.info.supports(claim.mode)?;
        if let Some(round) = self.shared.rounds.won(claim.id) {
            if let Some(grant) = self.again(claim, &round).await {
                return Ok(Tried::Granted(grant));
            }
            self.undo(claim.id, &round.claim, Leave::default()).await;
        }
        self.round(claim).await
    }

    async fn round(&self, claim: &Claim) -> Result<Tried> {
        let (id, round, seats) = (claim.id, claim.renewed(), self.seats.awake());
        let as_of = self.seats.now();
        self.begin(claim, &round, &seats, as_of);
        let answers = self.take(&round, &seats, 0).await;
        let tally = Tally::of(&answers);
        let mut votes = self.record(id, &round, &seats, answers);
        if votes.len() >= self.seats.majority()
            && let Some(won) = self.agree(&round, &mut votes).await
        {
            self.shared.rounds.with(id, round.id, |r| r.win(won, votes));
            return Ok(Tried::Granted(granted(claim, won, as_of, claim.ttl)));
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

    /// Registers what is about to be sent.
    fn begin(&self, claim: &Claim, round: &Claim, seats: &[usize], as_of: Moment) {
        let ballot = |seat| if seats.contains(&seat) { Ballot::Sent } else { Ballot::Empty };
        let ballots = (0..self.seats.len()).map(ballot).collect();
        let ends = as_of + claim.ttl;
        self.shared.rounds.begin(claim.id, Round { claim: round.clone(), ballots, ends, won: None, used: 0 });
    }

    /// Phase 1. When a majority has granted, the others have as long again: a bare majority survives the loss of none.
    pub(super) async fn take(&self, round: &Claim, seats: &[usize], at_least: u64) -> Answers<Vote> {
        let (majority, reached) = (self.seats.majority(), Notify::new());
        let in_vain = self.seats.len() - majority;
        let take =
            |_, backend: Arc<dyn Backend>| async move { member(&*backend).take(round, at_least).await };
        let decided = |answers: &[Option<Result<Vote>>]| {
            let tally = Tally::of(answers);
            if tally.granted >= majority {
                reached.notify_one();
            }
            tally.busy > in_vain
        };
        self.seats.ask_while(seats, self.patience(round.ttl, &reached), take, decided).await
    }

    /// Completes when it is no use to wait for more votes: true if members are silent, false if they are only slower than a
    /// majority.
    async fn patience(&self, ttl: Duration, reached: &Notify) -> bool {
        let began = self.seats.now();
        tokio::select! {
            biased;
            () = reached.notified() => {}
            silent = self.seats.silence(self.seats.limit(ttl)) => return silent,
        }
        let elapsed = self.seats.now().since(began);
        self.seats.silence(elapsed + GRACE).await;
        false
    }

    /// Records what each member has of the round. Returns the votes for it.
    pub(super) fn record(
        &self,
        id: ClaimId,
        round: &Claim,
        seats: &[usize],
        answers: Answers<Vote>,
    ) -> Vec<(usize, Grant)> {
        let mut votes = Vec::new();
        self.shared.rounds.with(id, round.id, |r| {
            for (seat, answer) in seats.iter().zip(answers) {
                r.ballots[*seat] = match answer {
                    None => Ballot::Sent,
                    Some(Err(e)) if e.outcome_unknown() => Ballot::Unknown,
                    Some(Err(_)) | Some(Ok(Vote::Busy | Vote::Abstains(_))) => Ballot::Empty,
                    Some(Ok(Vote::Granted(grant))) => {
                        votes.push((*seat, grant.clone()));
                        Ballot::Cast(grant)
                    }
                };
            }
        });
        votes
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
        let left = answers.into_iter().filter_map(|a| a?.ok()??.ttl).collect();
        Some(granted(claim, won, as_of, self.held_by_a_majority(left)?))
    }

    /// The time for which a majority holds on to a claim, from the times that the members have given.
    pub(super) fn held_by_a_majority(&self, mut left: Vec<Duration>) -> Option<Duration> {
        left.sort_unstable_by(|a, b| b.cmp(a));
        left.get(self.seats.majority() - 1).copied()
    }
}

impl Round {
    fn win(&mut self, won: (u64, u16), votes: Vec<(usize, Grant)>) {
        self.won = Some(won);
        for (seat, vote) in votes {
            self.ballots[seat] = Ballot::Cast(vote);
        }
    }
}

fn granted(claim: &Claim, (number, turns): (u64, u16), as_of: Moment, ttl: Duration) -> Grant {
    let mut grant = Grant::new(claim.clone(), number, as_of);
    (grant.turns, grant.ttl) = (turns, Some(ttl));
    grant
}

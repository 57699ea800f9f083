//! The attempts of each claim.
//!
//! The engine undoes and repeats by the id of *its* claim. Each attempt at the members has an id of its own, so that a
//! request of an earlier attempt that arrives late is not taken for one of the next.

use crate::Moment;
use crate::backend::by_claim::ByClaim;
use crate::backend::{Claim, ClaimId, Grant, Votes};
use crate::sync::lock;
use std::sync::Mutex;

/// The attempts that may have left something at a member, by the engine's claim.
#[derive(Debug, Default)]
pub(super) struct Rounds(Mutex<ByClaim<Vec<Round>>>);

/// One attempt at all members.
#[derive(Debug, Clone)]
pub(super) struct Round {
    /// The claim that the members see.
    pub(super) claim: Claim,
    /// One for each member.
    pub(super) ballots: Vec<Ballot>,
    /// The moment by which everything that the members have granted has ended.
    pub(super) ends: Moment,
    /// The first token and the turns that a majority stands by, as soon as one does.
    pub(super) won: Option<(u64, u16)>,
    /// The turns that were used, as far as is known. A release that is repeated does not say it again, and a member that
    /// took back a token that was used would give it once more.
    pub(super) used: u16,
    /// What members have said to its release so far. One that has answered is not asked again when it is repeated.
    pub(super) said: Said,
    /// The members that have confirmed it, as the holder sees them.
    pub(super) confirmed: Votes,
}

/// How many members have answered a release, and what.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Said {
    pub(super) answered: usize,
    pub(super) freed: usize,
    pub(super) evicted: usize,
}

impl Said {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            answered: self.answered + other.answered,
            freed: self.freed + other.freed,
            evicted: self.evicted + other.evicted,
        }
    }
}

/// The part of an attempt that a member may have.
#[derive(Debug, Clone)]
pub(super) enum Ballot {
    /// Nothing.
    Empty,
    /// It was asked, and has not answered (yet).
    Sent,
    /// It was asked, and whether it granted is not known.
    Unknown,
    /// It has granted this.
    Cast(Grant),
}

impl Ballot {
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    pub(super) fn grant(&self) -> Option<&Grant> {
        match self {
            Self::Cast(grant) => Some(grant),
            _ => None,
        }
    }
}

impl Round {
    /// The members that have granted the claim, with their grants.
    pub(super) fn votes(&self) -> impl Iterator<Item = (usize, &Grant)> {
        self.ballots.iter().enumerate().filter_map(|(seat, ballot)| Some((seat, ballot.grant()?)))
    }

    /// The members that may have something of it.
    pub(super) fn asked(&self) -> Vec<usize> {
        (0..self.ballots.len()).filter(|seat| !self.ballots[*seat].is_empty()).collect()
    }
}

impl Rounds {
    /// Registers an attempt, before anything of it is sent.
    pub(super) fn begin(&self, id: ClaimId, round: Round) {
        lock(&self.0).entry(id).or_default().push(round);
    }

    /// Changes an attempt that is still registered.
    pub(super) fn with<T>(
        &self,
        id: ClaimId,
        round: ClaimId,
        change: impl FnOnce(&mut Round) -> T,
    ) -> Option<T> {
        lock(&self.0).get_mut(&id)?.iter_mut().find(|r| r.claim.id == round).map(change)
    }

    /// All attempts of a claim.
    pub(super) fn of(&self, id: ClaimId) -> Vec<Round> {
        lock(&self.0).get(&id).cloned().unwrap_or_default()
    }

    /// The attempt that has won, if one has.
    pub(super) fn won(&self, id: ClaimId) -> Option<Round> {
        lock(&self.0).get(&id)?.iter().find(|r| r.won.is_some()).cloned()
    }

    /// Forgets an attempt of which no member has anything any more.
    pub(super) fn forget(&self, id: ClaimId, round: ClaimId) {
        let mut rounds = lock(&self.0);
        if let Some(all) = rounds.get_mut(&id) {
            all.retain(|r| r.claim.id != round);
            if all.is_empty() {
                rounds.remove(&id);
            }
        }
    }
}

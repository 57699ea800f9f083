//! What a state of the quorum consists of, and the steps between states.

use super::rules::{Promise, Rules};
use std::collections::BTreeSet;

/// A world to explore.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) rules: Rules,
    pub(crate) members: usize,
    /// The attempts of each client.
    pub(crate) attempts: Vec<u8>,
    pub(crate) restarts: u8,
    /// The clock of a member is stepped forward so often, and ends the lease that it has granted.
    pub(crate) jumps: u8,
    /// The first client takes the name only with so many votes more than a majority.
    pub(crate) spare_votes: usize,
    /// Leases end at any moment. If they do not, they outlive the belief of their holders.
    pub(crate) expiries: bool,
    /// Requests arrive whose answers are lost. If none are, requests still arrive late or never.
    pub(crate) lost_answers: bool,
}

impl World {
    pub(super) fn majority(&self) -> usize {
        if self.rules.majority { self.members / 2 + 1 } else { self.members / 2 }
    }

    pub(super) fn needed_by(&self, client: usize) -> usize {
        self.majority() + if client == 0 { self.spare_votes } else { 0 }
    }

    pub(super) fn claim(&self, client: usize, attempt: u8) -> Claim {
        (client, if self.rules.new_claim_per_attempt { attempt } else { 0 })
    }

    pub(super) fn is_active(&self, state: &State, claim: Claim) -> bool {
        let client = &state.clients[claim.0];
        client.phase != Phase::Idle && self.claim(claim.0, client.attempt) == claim
    }
}

/// A client's attempt: the claim id. Without a new id for each, all attempts of a client are one.
pub(super) type Claim = (usize, u8);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(super) members: Vec<Member>,
    pub(super) clients: Vec<Client>,
    pub(super) wire: BTreeSet<Request>,
    /// Tokens that were granted.
    pub(super) tokens: BTreeSet<u8>,
    pub(super) restarts: u8,
    pub(super) jumps: u8,
    pub(super) broken: Option<Promise>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(super) struct Member {
    pub(super) owner: Option<(Claim, u8)>,
    pub(super) counter: u8,
    /// It abstains until these attempts are over.
    pub(super) abstains: Option<Vec<Claim>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Client {
    pub(super) attempt: u8,
    /// The largest token that had been granted when the attempt began.
    pub(super) floor: u8,
    pub(super) phase: Phase,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Idle,
    Taking(Vec<Option<u8>>),
    Raising {
        token: u8,
        agree: Vec<bool>,
        votes: Vec<bool>,
    },
    /// With the members whose votes are known.
    Holding {
        token: u8,
        votes: Vec<bool>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Request {
    pub(super) client: usize,
    pub(super) attempt: u8,
    pub(super) member: usize,
    pub(super) what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum What {
    Take,
    Raise(u8),
    Release,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Begin(usize),
    /// A request arrives, and its answer too.
    Answer(Request),
    /// A request arrives, and its answer is lost.
    Arrive(Request),
    Decide(usize),
    Renew(usize),
    GiveUp(usize),
    Finish(usize),
    Expire(usize),
    Restart(usize),
    Jump(usize),
    VoteAgain(usize),
}

//! The quorum as a state machine: clients, members, and requests that arrive late or never.
//!
//! A request that nobody waits for any more may still arrive, at any time. Its answer is lost, or comes at once: an answer that
//! is late only delays the client, which may take its next step at any time anyway.

use super::rules::{Promise, Rules};
use stateright::{Model, Property};
use std::collections::BTreeSet;

/// A world to explore.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) rules: Rules,
    pub(crate) members: usize,
    /// The attempts of each client.
    pub(crate) attempts: Vec<u8>,
    pub(crate) restarts: u8,
    /// Leases end at any moment. If they do not, they outlive the belief of their holders.
    pub(crate) expiries: bool,
}

/// A client's attempt: the claim id. Without a new id for each, all attempts of a client are one.
type Claim = (usize, u8);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    members: Vec<Member>,
    clients: Vec<Client>,
    wire: BTreeSet<Request>,
    /// Tokens that were granted.
    tokens: BTreeSet<u8>,
    restarts: u8,
    broken: Option<Promise>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Member {
    owner: Option<(Claim, u8)>,
    counter: u8,
    /// It abstains until these attempts are over.
    abstains: Option<Vec<Claim>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Client {
    attempt: u8,
    /// The largest token that had been granted when the attempt began.
    floor: u8,
    phase: Phase,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Phase {
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
    client: usize,
    attempt: u8,
    member: usize,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum What {
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
    VoteAgain(usize),
}

impl World {
    fn majority(&self) -> usize {
        if self.rules.majority { self.members / 2 + 1 } else { self.members / 2 }
    }

    fn claim(&self, client: usize, attempt: u8) -> Claim {
        (client, if self.rules.new_claim_per_attempt { attempt } else { 0 })
    }

    fn send(&self, state: &mut State, client: usize, what: impl Fn(usize) -> Option<What>) {
        let attempt = state.clients[client].attempt;
        let requests = (0..self.members)
            .filter_map(|member| Some(Request { client, attempt, member, what: what(member)? }));
        state.wire.extend(requests);
    }

    /// What a member does with a request. Returns its answer to a take or a raise.
    fn arrive(&self, state: &mut State, request: Request) -> Option<u8> {
        state.wire.remove(&request);
        let claim = self.claim(request.client, request.attempt);
        let member = &mut state.members[request.member];
        let ours = member.owner.is_some_and(|(owner, _)| owner == claim);
        match request.what {
            What::Release if ours => member.owner = None,
            What::Release => {}
            _ if member.abstains.is_some() => return None,
            What::Take if ours => return member.owner.map(|(_, token)| token),
            What::Take if member.owner.is_none() => {
                member.counter += 1;
                member.owner = Some((claim, member.counter));
                return Some(member.counter);
            }
            What::Raise(token) if ours || !self.rules.raise_only_ours => {
                member.counter = member.counter.max(token);
                if ours {
                    member.owner = Some((claim, token));
                }
                return Some(token);
            }
            What::Take | What::Raise(_) => {}
        }
        None
    }

    fn answer(&self, state: &mut State, request: Request) {
        let answer = self.arrive(state, request);
        let client = &mut state.clients[request.client];
        if client.attempt != request.attempt {
            return;
        }
        match (&mut client.phase, request.what, answer) {
            (Phase::Taking(votes), What::Take, Some(_)) => votes[request.member] = answer,
            (Phase::Raising { agree, .. }, What::Raise(_), Some(_)) => agree[request.member] = true,
            _ => {}
        }
    }

    fn decide(&self, state: &mut State, client: usize) -> Option<()> {
        match state.clients[client].phase.clone() {
            Phase::Taking(votes) if votes.iter().flatten().count() >= self.majority() => {
                let token = votes.iter().flatten().copied().max()?;
                let agree: Vec<bool> = votes.iter().map(|vote| *vote == Some(token)).collect();
                let agreed = agree.iter().filter(|yes| **yes).count() >= self.majority();
                let known = votes.iter().map(Option::is_some).collect();
                if agreed || !self.rules.write_back {
                    self.grant(state, client, token, known);
                } else {
                    let raise = |m: usize| (votes[m].is_some() && !agree[m]).then_some(What::Raise(token));
                    self.send(state, client, raise);
                    state.clients[client].phase = Phase::Raising { token, agree, votes: known };
                }
            }
            Phase::Raising { token, agree, votes }
                if agree.iter().filter(|yes| **yes).count() >= self.majority() =>
            {
                self.grant(state, client, token, votes);
            }
            _ => return None,
        }
        Some(())
    }

    fn grant(&self, state: &mut State, client: usize, token: u8, votes: Vec<bool>) {
        let holders = state.clients.iter().filter(|c| matches!(c.phase, Phase::Holding { .. })).count();
        if holders > 0 && !self.expiries {
            state.broken = state.broken.or(Some(Promise::Exclusion));
        }
        if !state.tokens.insert(token) || token <= state.clients[client].floor {
            state.broken = state.broken.or(Some(Promise::Tokens));
        }
        state.clients[client].phase = Phase::Holding { token, votes };
    }

    /// All members are asked whether they hold on to it, and those that never said so to take it now. If those that count are
    /// too few, it is lost.
    fn renew(&self, state: &mut State, client: usize) -> Option<()> {
        let Phase::Holding { token, votes } = state.clients[client].phase.clone() else { return None };
        let claim = self.claim(client, state.clients[client].attempt);
        let (mut stay, mut known) = (0, vec![false; self.members]);
        for (m, member) in state.members.iter_mut().enumerate() {
            let is_first = votes[m];
            if !is_first && member.owner.is_none() && member.abstains.is_none() {
                member.counter = token.max(member.counter + 1);
                member.owner = Some((claim, member.counter));
            }
            known[m] = member.owner.is_some_and(|(owner, _)| owner == claim);
            stay += usize::from(known[m] && (is_first || !self.rules.newcomers_wait));
        }
        if stay < self.majority() {
            self.end(state, client);
            return Some(());
        }
        if state.tokens.last().is_some_and(|last| *last > token) {
            state.broken = state.broken.or(Some(Promise::Renewal));
        }
        state.clients[client].phase = Phase::Holding { token, votes: known };
        Some(())
    }

    /// The attempt is over, well or not: all members are told.
    fn end(&self, state: &mut State, client: usize) {
        self.send(state, client, |_| Some(What::Release));
        let client = &mut state.clients[client];
        (client.attempt, client.phase) = (client.attempt + 1, Phase::Idle);
    }

    fn is_active(&self, state: &State, claim: Claim) -> bool {
        let client = &state.clients[claim.0];
        client.phase != Phase::Idle && self.claim(claim.0, client.attempt) == claim
    }

    fn may_expire(&self, state: &State, member: usize) -> bool {
        let owner = state.members[member].owner;
        owner.is_some_and(|(claim, _)| self.expiries || !self.is_active(state, claim))
    }

    fn restart(&self, state: &mut State, member: usize) {
        let active = state.clients.iter().enumerate().filter(|(_, c)| c.phase != Phase::Idle);
        let active: Vec<Claim> = active.map(|(c, client)| self.claim(c, client.attempt)).collect();
        let abstains = self.rules.abstinence.then_some(active);
        state.members[member] = Member { owner: None, counter: 0, abstains };
        state.restarts += 1;
    }

    /// The clock is past every token by now.
    fn vote_again(&self, state: &mut State, member: usize) {
        let clock = state.members.iter().map(|m| m.counter).max().unwrap_or(0);
        let clock = clock.max(state.tokens.last().copied().unwrap_or(0)) + 1;
        let back = &mut state.members[member];
        back.abstains = None;
        if self.rules.floor_after_abstinence {
            back.counter = clock;
        }
    }
}

impl Model for World {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let client = Client { attempt: 0, floor: 0, phase: Phase::Idle };
        vec![State {
            members: vec![Member::default(); self.members],
            clients: vec![client; self.attempts.len()],
            wire: BTreeSet::new(),
            tokens: BTreeSet::new(),
            restarts: 0,
            broken: None,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        if state.broken.is_some() {
            return;
        }
        for (c, client) in state.clients.iter().enumerate() {
            match &client.phase {
                Phase::Idle if client.attempt < self.attempts[c] => steps.push(Step::Begin(c)),
                Phase::Idle => {}
                Phase::Taking(_) | Phase::Raising { .. } => steps.extend([Step::Decide(c), Step::GiveUp(c)]),
                Phase::Holding { .. } => {
                    steps.push(Step::Finish(c));
                    // Where leases outlive the belief of their holders, nothing is lost.
                    if self.expiries {
                        steps.push(Step::Renew(c));
                    }
                }
            }
        }
        for request in &state.wire {
            steps.push(Step::Answer(*request));
            if request.what != What::Release {
                steps.push(Step::Arrive(*request));
            }
        }
        for (m, member) in state.members.iter().enumerate() {
            if self.may_expire(state, m) {
                steps.push(Step::Expire(m));
            }
            if state.restarts < self.restarts {
                steps.push(Step::Restart(m));
            }
            let over = |claims: &Vec<Claim>| claims.iter().all(|claim| !self.is_active(state, *claim));
            if member.abstains.as_ref().is_some_and(over) {
                steps.push(Step::VoteAgain(m));
            }
        }
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut state = last.clone();
        match step {
            Step::Begin(c) => {
                state.clients[c].floor = state.tokens.last().copied().unwrap_or(0);
                state.clients[c].phase = Phase::Taking(vec![None; self.members]);
                self.send(&mut state, c, |_| Some(What::Take));
            }
            Step::Answer(request) => self.answer(&mut state, request),
            Step::Arrive(request) => _ = self.arrive(&mut state, request),
            Step::Decide(c) => self.decide(&mut state, c)?,
            Step::Renew(c) => self.renew(&mut state, c)?,
            Step::GiveUp(c) | Step::Finish(c) => self.end(&mut state, c),
            Step::Expire(m) => state.members[m].owner = None,
            Step::Restart(m) => self.restart(&mut state, m),
            Step::VoteAgain(m) => self.vote_again(&mut state, m),
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("exclusion", |_: &Self, s: &State| s.broken != Some(Promise::Exclusion)),
            Property::always("tokens", |_: &Self, s: &State| s.broken != Some(Promise::Tokens)),
            Property::always("renewal", |_: &Self, s: &State| s.broken != Some(Promise::Renewal)),
            Property::sometimes("granted twice", |_: &Self, s: &State| s.tokens.len() > 1),
        ]
    }
}

//! The quorum as a state machine: clients, members, and requests that arrive late or never.
//!
//! A request that nobody waits for any more may still arrive, at any time. Its answer is lost, or comes at once: an answer that
//! is late only delays the client, which may take its next step at any time anyway.

use super::rules::Promise;
use super::state::{Claim, Client, Member, Phase, State, Step, What, World};
use stateright::{Model, Property};
use std::collections::BTreeSet;

impl Model for World {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let client = Client { attempt: 0, floor: 0, phase: Phase::Idle };
        let all_alike = State {
            members: vec![Member::default(); self.members],
            clients: vec![client; self.attempts.len()],
            wire: BTreeSet::new(),
            tokens: BTreeSet::new(),
            restarts: 0,
            jumps: 0,
            broken: None,
        };
        // Counters of new names are mostly born alike, but not always.
        let mut one_ahead = all_alike.clone();
        one_ahead.members[0].counter = 2;
        vec![all_alike, one_ahead.canonical()]
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
            if self.lost_answers && request.what != What::Release {
                steps.push(Step::Arrive(*request));
            }
        }
        for (m, member) in state.members.iter().enumerate() {
            if self.may_expire(state, m) {
                steps.push(Step::Expire(m));
            }
            if state.jumps < self.jumps && member.owner.is_some() {
                steps.push(Step::Jump(m));
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
            Step::Jump(m) => {
                state.members[m].owner = None;
                state.jumps += 1;
            }
            Step::Restart(m) => self.restart(&mut state, m),
            Step::VoteAgain(m) => self.vote_again(&mut state, m),
        }
        (state != *last).then(|| state.canonical())
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("exclusion", |_: &Self, s: &State| s.broken != Some(Promise::Exclusion)),
            Property::always("tokens", |_: &Self, s: &State| s.broken != Some(Promise::Tokens)),
            Property::always("renewal", |_: &Self, s: &State| s.broken != Some(Promise::Renewal)),
            Property::sometimes("granted twice", |_: &Self, s: &State| s.tokens.len() > 1),
            Property::sometimes("contended", |_: &Self, s: &State| {
                let is = |phase: fn(&Phase) -> bool| s.clients.iter().any(|client| phase(&client.phase));
                is(|p| matches!(p, Phase::Holding { .. })) && is(|p| matches!(p, Phase::Taking(_)))
            }),
        ]
    }
}

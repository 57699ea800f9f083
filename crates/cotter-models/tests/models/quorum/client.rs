//! What clients do: ask for votes, raise, hold, renew, give up.

use super::rules::Promise;
use super::state::{Phase, Request, State, What, World};

impl World {
    pub(super) fn send(&self, state: &mut State, client: usize, what: impl Fn(usize) -> Option<What>) {
        let attempt = state.clients[client].attempt;
        let requests = (0..self.members)
            .filter_map(|member| Some(Request { client, attempt, member, what: what(member)? }));
        state.wire.extend(requests);
    }

    /// A request arrives, and its answer too.
    pub(super) fn answer(&self, state: &mut State, request: Request) {
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

    /// A majority has granted, or stands at the largest number.
    pub(super) fn decide(&self, state: &mut State, client: usize) -> Option<()> {
        match state.clients[client].phase.clone() {
            Phase::Taking(votes) if votes.iter().flatten().count() >= self.needed_by(client) => {
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
    pub(super) fn renew(&self, state: &mut State, client: usize) -> Option<()> {
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
    pub(super) fn end(&self, state: &mut State, client: usize) {
        self.send(state, client, |_| Some(What::Release));
        let client = &mut state.clients[client];
        (client.attempt, client.phase) = (client.attempt + 1, Phase::Idle);
    }
}

//! What members do with requests, and what happens to them.

use super::state::{Claim, Member, Phase, Request, State, What, World};

impl World {
    /// What a member does with a request. Returns its answer to a take or a raise.
    pub(super) fn arrive(&self, state: &mut State, request: Request) -> Option<u8> {
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

    pub(super) fn may_expire(&self, state: &State, member: usize) -> bool {
        let owner = state.members[member].owner;
        owner.is_some_and(|(claim, _)| self.expiries || !self.is_active(state, claim))
    }

    /// It has forgotten everything.
    pub(super) fn restart(&self, state: &mut State, member: usize) {
        let active = state.clients.iter().enumerate().filter(|(_, c)| c.phase != Phase::Idle);
        let active: Vec<Claim> = active.map(|(c, client)| self.claim(c, client.attempt)).collect();
        let abstains = self.rules.abstinence.then_some(active);
        state.members[member] = Member { owner: None, counter: 0, abstains };
        state.restarts += 1;
    }

    /// The clock is past every token by now.
    pub(super) fn vote_again(&self, state: &mut State, member: usize) {
        let clock = state.members.iter().map(|m| m.counter).max().unwrap_or(0);
        let clock = clock.max(state.tokens.last().copied().unwrap_or(0)) + 1;
        let back = &mut state.members[member];
        back.abstains = None;
        if self.rules.floor_after_abstinence {
            back.counter = clock;
        }
    }
}

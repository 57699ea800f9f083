//! Being a member of a quorum beside clients that write `SET NX PX` on all members, as other Redlock libraries do.

use super::backend::{Older, Steps, grant};
use super::plain::Plain;
use crate::backend::{Claim, Grant, Member, Vote};
use crate::stores::redis::live::Live;
use crate::stores::redis::member::{abstains, enlist, identity, parse_vote, raised};
use crate::stores::redis::script::{self, Script};
use crate::stores::redis::state::{Block, micros, turns};
use crate::stores::redis::voting::{Voting, vote};
use crate::{Error, Moment, Name, Note, Result};
use async_trait::async_trait;
use std::time::Duration;

impl Older<Plain> {
    /// Runs a script with the claim's value, and the count of its name beside the key of the lock.
    async fn vote(&self, live: &Live, script: &Script, claim: &Claim, at_least: u64) -> Result<String> {
        let shared = self.steps.shared();
        let Voting { keys, retain, .. } = shared.voting();
        let (value, ttl, turns) = (claim.id.hex(), micros(claim.ttl), turns(claim.turns.max(1)));
        let (args, count) = ([&value[..], &ttl, &turns, retain.as_bytes()], keys.count(&claim.name));
        let answer = vote(live, shared, script, &[&claim.name, &count], &args, at_least).await;
        answer.map_err(|e| e.with_name(&claim.name))
    }
}

#[async_trait]
impl Member for Older<Plain> {
    fn join(&self, members: usize) -> Result<()> {
        self.steps.shared().voting().join(members)
    }

    async fn take(&self, claim: &Claim, at_least: u64) -> Result<Vote> {
        let (link, shared) = (self.steps.link(), self.steps.shared());
        let live = link.live().await?;
        let sent = link.now();
        let request = shared.in_flight.send(claim.id, live.number, link.arrives_by(sent));
        let answer = self.vote(&live, &script::PLAIN_VOTE, claim, at_least).await;
        if !answer.as_ref().is_err_and(Error::outcome_unknown) {
            request.answered();
        }
        match parse_vote(claim, &answer?)?.by(|block| granted(claim, &block, sent)) {
            // It was granted before.
            Vote::Granted(grant) if grant.number < at_least => {
                Ok(self.raise(&grant, at_least).await.map_err(Error::with_outcome_unknown)?.into())
            }
            vote => Ok(vote),
        }
    }

    async fn raise(&self, grant: &Grant, at_least: u64) -> Result<Option<Grant>> {
        let link = self.steps.link();
        let (live, sent) = (link.live().await?, link.now());
        let answer = self.vote(&live, &script::PLAIN_RAISE, &grant.claim, at_least).await?;
        Ok(raised(&answer)?.map(|block| granted(&grant.claim, &block, sent)))
    }

    async fn dated(&self, _: &Name, _: &str) -> Result<Option<(Note, u64)>> {
        Err(no_notes())
    }

    async fn mend(&self, _: &Name, _: &str, _: &Note, _: u64) -> Result<()> {
        Err(no_notes())
    }

    async fn identity(&self) -> Result<Option<String>> {
        identity(self.steps.link()).await
    }

    async fn abstains(&self) -> Result<Option<Duration>> {
        abstains(&*self.steps.link().live().await?, self.steps.shared()).await
    }

    async fn enlist(&self) -> Result<()> {
        enlist(&*self.steps.link().live().await?, self.steps.shared()).await
    }
}

fn granted(claim: &Claim, block: &Block, sent: Moment) -> Grant {
    grant(claim, (block.number, block.turns), sent, block.ttl)
}

fn no_notes() -> Error {
    Error::unsupported("notes", Plain::VARIANT)
}

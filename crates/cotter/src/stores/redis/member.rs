//! Being a member of a quorum.

use super::Shared;
use super::acquire::parse;
use super::backend::Native;
use super::connection::Link;
use super::errors::{Sent, explain, unexpected};
use super::live::Live;
use super::notes::dated;
use super::script;
use super::state::{Answer, Block, digits};
use super::voting::{run, too_long, vote};
use crate::backend::{Acceptor, Claim, Grant, Member, Vote};
use crate::{Error, Name, Note, Result};
use async_trait::async_trait;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

impl Native {
    async fn request_vote(&self, live: &Live, claim: &Claim, at_least: u64) -> Result<Vote> {
        let wanted = self.wanted(claim);
        let script = if wanted.share.is_some() { &script::VOTE_SHARE } else { &script::VOTE };
        let (keys, args) = (self.keys.of(&claim.name), wanted.args(claim, &self.retain));
        let sent = self.now();
        let request = self.shared.in_flight.send(claim.id, live.number, self.link.arrives_by(sent));
        let answer = vote(live, &self.shared, script, &keys.all(), &args, at_least).await;
        let vote = match answer {
            Ok(answer) => parse_vote(claim, self.finish(live, &keys, &answer).await),
            Err(e) => Err(e),
        };
        if !vote.as_ref().is_err_and(Error::outcome_unknown) {
            request.answered();
        }
        Ok(vote?.by(|block| Self::grant(claim, block, sent)))
    }
}

/// The answer to a claim of a quorum.
pub(super) enum Cast {
    Granted(Block),
    Busy,
    Abstains(Duration),
}

impl Cast {
    pub(super) fn by(self, grant: impl FnOnce(Block) -> Grant) -> Vote {
        match self {
            Self::Granted(block) => Vote::Granted(grant(block)),
            Self::Busy => Vote::Busy,
            Self::Abstains(left) => Vote::Abstains(left),
        }
    }
}

pub(super) fn parse_vote(claim: &Claim, answer: &str) -> Result<Cast> {
    if let Some(longest) = answer.strip_prefix('l') {
        return Err(too_long(claim.ttl, duration(longest)?).with_name(&claim.name));
    }
    if let Some(left) = answer.strip_prefix('a') {
        return Ok(Cast::Abstains(duration(left)?));
    }
    if answer == "b" {
        return Ok(Cast::Busy);
    }
    match parse(claim, answer)? {
        Answer::Granted(block) => Ok(Cast::Granted(block)),
        Answer::Busy { .. } => Ok(Cast::Busy),
        Answer::Queued { .. } => Err(unexpected("a place in the queue, though none was asked for")),
    }
}

/// The answer to a request to raise a grant; `None` if the claim holds nothing any more.
pub(super) fn raised(answer: &str) -> Result<Option<Block>> {
    match answer.split_at_checked(1) {
        Some(("g", block)) => Block::parse(block).map(Some),
        Some(("n" | "a", _)) => Ok(None),
        _ => Err(unexpected(answer)),
    }
}

/// Identifies one run of a server.
pub(super) async fn identity(link: &Link) -> Result<Option<String>> {
    run(&*link.live().await?).await.map(|run| Some(run.to_owned()))
}

/// For how long a server grants nothing.
pub(super) async fn abstains(live: &Live, shared: &Shared) -> Result<Option<Duration>> {
    let answer = vote(live, shared, &script::ABSTAINS, &[], &[], 0).await?;
    answer.strip_prefix('a').map(duration).transpose()
}

/// Makes a server vote at once.
pub(super) async fn enlist(live: &Live, shared: &Shared) -> Result<()> {
    let voting = shared.voting();
    let answer = script::ENLIST.run(live, &[&voting.marker], &[&voting.longest, voting.members()]).await;
    answer.map(drop).map_err(|e| explain(e, Sent::Yes))
}

pub(super) fn duration(micros: &str) -> Result<Duration> {
    micros.parse().map(Duration::from_micros).map_err(|_| unexpected(micros))
}

#[async_trait]
impl Member for Native {
    fn join(&self, members: usize) -> Result<()> {
        self.shared.voting().join(members)
    }

    async fn take(&self, claim: &Claim, at_least: u64) -> Result<Vote> {
        let live = self.link.live().await?;
        let vote = self.request_vote(&live, claim, at_least).await.map_err(|e| e.with_name(&claim.name))?;
        match vote {
            // It was granted before.
            Vote::Granted(grant) if grant.number < at_least => {
                Ok(self.raise(&grant, at_least).await.map_err(Error::with_outcome_unknown)?.into())
            }
            vote => Ok(vote),
        }
    }

    async fn raise(&self, grant: &Grant, at_least: u64) -> Result<Option<Grant>> {
        let (live, claim) = (self.link.live().await?, &grant.claim);
        let (keys, sent) = (self.keys.of(&claim.name), self.now());
        let answer =
            vote(&live, &self.shared, &script::RAISE, &keys.all(), &[&claim.id.hex()], at_least).await;
        let answer = answer.map_err(|e| e.with_name(&claim.name))?;
        Ok(raised(&answer)?.map(|block| Self::grant(claim, block, sent)))
    }

    fn freed(&self, name: &Name) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let watched = self.subscription.watch(&self.keys.lock(name));
        let freed = watched.0.changed.clone().notified_owned();
        Box::pin(async move {
            freed.await;
            drop(watched);
        })
    }

    async fn dated(&self, name: &Name, key: &str) -> Result<Option<(Note, u64)>> {
        let mut cmd = redis::cmd("HMGET");
        cmd.arg(self.keys.note(name, key)).arg("by").arg("revision").arg("bytes");
        let (value, _) = self.link.query(&cmd).await.map_err(|e| e.with_name(name))?;
        dated(value)
    }

    async fn mend(&self, name: &Name, key: &str, note: &Note, sequence: u64) -> Result<()> {
        let by = [digits::<16>(note.token.get()), digits::<16>(sequence)];
        let key = self.keys.note(name, key);
        let answer = self.run(&script::NOTE_MEND, &[&key], &[&by[0], &by[1], &note.bytes]).await;
        answer.map(drop).map_err(|e| e.with_name(name))
    }

    fn acceptor(&self) -> Option<&dyn Acceptor> {
        Some(self)
    }

    async fn identity(&self) -> Result<Option<String>> {
        identity(&self.link).await
    }

    async fn abstains(&self) -> Result<Option<Duration>> {
        abstains(&*self.link.live().await?, &self.shared).await
    }

    async fn enlist(&self) -> Result<()> {
        enlist(&*self.link.live().await?, &self.shared).await
    }
}

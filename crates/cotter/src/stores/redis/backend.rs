//! The contract in native mode.

use super::batch::extend_all;
use super::connection::Link;
use super::errors::{Sent, explain, is_moving, unexpected};
use super::foreign::explain_with_key;
use super::live::Live;
use super::met::Met;
use super::names::{Keys, LockKeys};
use super::script::{self, Script};
use super::state::{Block, micros, text, turns};
use super::waiting::{QueueEntry, UNCONFIRMED_TTL};
use super::wake::Subscription;
use super::{SCHEME, Shared};
use crate::backend::poll;
use crate::backend::{
    Acquired, Admin, Backend, Capabilities, Claim, ClaimId, Extension, Grant, Info, Leave, Member, Mode,
    Notes, Release, Until,
};
use crate::{Error, Moment, Name, Result};
use async_trait::async_trait;
use redis::{RedisResult, Value};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A connection that speaks the native protocol.
#[derive(Debug)]
pub(super) struct Native {
    pub(super) link: Arc<Link>,
    pub(super) shared: Arc<Shared>,
    pub(super) keys: Keys,
    pub(super) met: Met,
    pub(super) subscription: Subscription,
    info: Info,
    /// The time for which a free name is remembered, in milliseconds, as the scripts take it.
    pub(super) retain: String,
    /// The time to live of the key of a lock that was handed over by message, in milliseconds.
    handed_over_px: String,
}

/// The time for which the key of a lock outlives its lease, so that a dead holder's queue and token are not forgotten.
pub(super) const KEY_GRACE: Duration = Duration::from_secs(3600);
/// A shorter lease could end before its holder has read the answer.
const MIN_TTL: Duration = Duration::from_millis(5);

impl Native {
    pub(super) fn new(link: Arc<Link>, shared: Arc<Shared>) -> Self {
        let options = &shared.options;
        let mut info = Info::new(SCHEME, &options.instance);
        info.place.clone_from(&options.prefix);
        info.capabilities =
            Capabilities { per_runtime: true, in_line: true, ..Capabilities::complete(MIN_TTL) };
        let retain = options.retain.as_millis().to_string();
        let channel = format!("{}:wake:{}", options.prefix, ClaimId::random());
        let subscription = Subscription::new(&link, &shared.waiters, channel, retain.clone());
        let handed_over_px = px(UNCONFIRMED_TTL, options.retain);
        let keys = Keys::new(options);
        let met = Met::default();
        Self { keys, met, subscription, info, retain, handed_over_px, link, shared }
    }

    pub(super) fn now(&self) -> Moment {
        self.link.now()
    }

    pub(super) fn grant(claim: &Claim, block: Block, as_of: Moment) -> Grant {
        let mut grant = Grant::new(claim.clone(), block.number, as_of);
        (grant.turns, grant.ttl) = (block.turns, Some(block.ttl));
        grant
    }

    /// The time to live of the key of a lock with this lease, in milliseconds.
    pub(super) fn px(&self, ttl: Duration) -> String {
        px(ttl, self.shared.options.retain)
    }

    /// Runs a script on the keys of one name and returns its text.
    pub(super) async fn run(&self, script: &Script, keys: &[&str], args: &[&[u8]]) -> Result<String> {
        let live = self.link.live().await?;
        text(script.run(&live, keys, args).await.map_err(|e| explain(e, Sent::Yes))?)
    }

    /// The same for a script that may grant the name to waiters.
    pub(super) async fn run_to_the_end(
        &self,
        script: &Script,
        name: &Name,
        args: &[&[u8]],
    ) -> Result<String> {
        let (live, keys) = (self.link.live().await?, self.keys.of(name));
        let answer = run_on(script, &live, &keys, args).await.map_err(|e| e.with_name(name))?;
        Ok(self.finish(&live, &keys, &answer).await.to_owned())
    }

    /// Whether it can be expected that nobody else wants what this claim has.
    fn is_alone(&self, claim: &Claim) -> bool {
        claim.mode == Mode::Exclusive && self.shared.voting.is_none() && !self.met.others(&claim.name)
    }

    async fn release_on(&self, live: &Live, claim: &Claim, leave: Leave) -> Result<Release> {
        let (id, used, rest) = (claim.id.hex(), turns(leave.used), leave.keep_for.map(micros));
        let mut args: Vec<&[u8]> = vec![&id, &used, self.retain.as_bytes(), self.handed_over_px.as_bytes()];
        args.extend(rest.as_ref().map(<[u8; 14]>::as_slice));
        if leave.keep_for.is_none() && self.is_alone(claim) {
            let freed = release_alone(live, &self.keys.lock(&claim.name), &args[..3]).await;
            if freed.map_err(|e| e.with_name(&claim.name))? {
                return Ok(Release::Freed);
            }
            self.met.note(&claim.name, true);
        }
        let keys = self.keys.of(&claim.name);
        let script = if self.shared.voting.is_some() { &script::RELEASE_VOTE } else { &script::RELEASE };
        let answer = match script.run(live, &keys.all(), &args).await {
            // Whether somebody waits is in other keys, some of which may have moved to another node; but if nobody does, the lock
            // itself says so, and its holder need not wait for the others. Boxed, or the future of every release would have
            // room for it.
            Err(e) if is_moving(&e) => match Box::pin(release_alone(live, keys.lock(), &args)).await {
                Ok(true) => return Ok(Release::Freed),
                Ok(false) => Err(explain(e, Sent::Yes)),
                Err(e) => Err(e),
            },
            answer => answered(live, keys.lock(), answer).await,
        };
        let answer = answer.map_err(|e| e.with_name(&claim.name))?;
        match self.finish(live, &keys, &answer).await {
            "f" => Ok(Release::Freed),
            "n" => Ok(Release::NotHeld),
            "e" => Ok(Release::Evicted),
            other => Err(unexpected(other)),
        }
    }
}

/// Runs a script on all keys of a name and returns its text.
pub(super) async fn run_on(script: &Script, live: &Live, keys: &LockKeys, args: &[&[u8]]) -> Result<String> {
    answered(live, keys.lock(), script.run(live, &keys.all(), args).await).await
}

/// The text of an answer about the name with this lock.
pub(super) async fn answered(live: &Live, lock: &str, answer: RedisResult<Value>) -> Result<String> {
    match answer {
        Ok(answer) => text(answer),
        Err(e) => Err(explain_with_key(live, lock, e).await),
    }
}

/// Releases a lock that nobody waits for. It needs one key, which a node of a cluster has until it gives that away, and few
/// arguments, which are most of what a script costs. False if somebody waits, or the claim does not hold it.
async fn release_alone(live: &Live, lock: &str, args: &[&[u8]]) -> Result<bool> {
    let answer = script::RELEASE_ALONE.run(live, &[lock], args).await;
    match answered(live, lock, answer).await?.as_str() {
        "f" => Ok(true),
        "?" => Ok(false),
        other => Err(unexpected(other)),
    }
}

fn px(ttl: Duration, retain: Duration) -> String {
    let whole = (ttl + KEY_GRACE + retain).as_millis();
    u64::try_from(whole).unwrap_or(u64::MAX).to_string()
}

#[async_trait]
impl Backend for Native {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        claim.mode.check()?;
        // The slow paths are boxed, or the future of every acquisition would have room for them.
        match until {
            Until::Now => {}
            Until::InLine => {
                if let Some(channel) = self.shared.waiters.channels.any() {
                    return Box::pin(self.try_or_join(claim, &channel)).await;
                }
            }
            _ => {
                return Box::pin(poll::in_queue(
                    self,
                    &**self.link.clock(),
                    claim,
                    until,
                    QueueEntry::new(self, claim),
                ))
                .await;
            }
        }
        self.try_once(claim).await
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        if let Some(refusal) = self.shared.refuses(ttl) {
            return grants.iter().map(|grant| Err(refusal.clone().with_name(&grant.claim.name))).collect();
        }
        extend_all(grants, |batch| self.extend_batch(batch, ttl)).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        self.shared.waiters.forget(claim.id);
        let live = self.link.live().await?;
        let released = self.release_on(&live, claim, leave).await?;
        // A request never arrives behind its release on the connection that carried it. On another one it may, and then
        // it takes the lock again, whatever the release has found.
        let stray = self.shared.in_flight.stray_until(claim.id, live.number, self.now());
        Ok(stray.map_or(released, |until| released.unsettled(until)))
    }

    async fn adopt(&self, from: &Claim, to: &Claim) -> Result<Option<Grant>> {
        self.pass(from, to).await
    }

    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        let (claim, as_of) = (&grant.claim, self.now());
        let args = [&claim.id.hex()[..], self.retain.as_bytes()];
        let answer = self.run_to_the_end(&script::DOWNGRADE, &claim.name, &args).await?;
        if answer.is_empty() {
            return Err(Error::not_ours(claim.id).with_backend(SCHEME).with_name(&claim.name));
        }
        let mut shared = claim.clone();
        shared.mode = Mode::Shared;
        Ok(Self::grant(&shared, Block::parse(&answer)?, as_of))
    }

    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        let limit = of.to_string();
        let args = [self.retain.as_bytes(), limit.as_bytes()];
        self.run_to_the_end(&script::ADVANCE, name, &args).await.map(|_| ())
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        super::doctor::time(&self.link).await.map(|(now, _)| Some(now))
    }

    async fn close(&self) {
        self.subscription.close();
        self.link.close();
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(self)
    }

    fn member(&self) -> Option<&dyn Member> {
        self.shared.options.votes.map(|_| self as &dyn Member)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }
}

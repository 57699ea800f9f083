//! `SETNX` and `GETSET` of an expiry in client time.

use super::backend::{Steps, Tried, grant, millis};
use super::issued::Holding;
use crate::backend::{Claim, Eviction, Extension, Grant, Holder, Info, Leave, Level, Mode, Release};
use crate::clock::unix_micros;
use crate::stores::redis::connection::Link;
use crate::stores::redis::errors::{Sent, explain};
use crate::stores::redis::state::text;
use crate::stores::redis::{SCHEME, Shared, script};
use crate::{Error, ErrorKind, Name, Result};
use redis::{Cmd, Value};
use std::sync::Arc;
use std::time::Duration;

/// The steps of the getset protocol.
#[derive(Debug, Clone)]
pub(in crate::stores::redis) struct GetSet {
    pub(super) link: Arc<Link>,
    pub(super) shared: Arc<Shared>,
}

const CAUTION: &str = "mode=getset has three flaws that one side cannot mend: the clients' clocks decide whether a lock has \
    expired, a client that loses a race overwrites the winner's expiry, and a late release by other code may free a lock \
    that is not its own; use this mode only beside code that does the same, until that code is replaced";

/// Logs the flaws, once for each client.
pub(in crate::stores::redis) fn warn(instance: &str) {
    tracing::warn!(target: "cotter", instance, "{CAUTION}");
}

/// The result of the three steps of the protocol.
enum Step {
    Acquired,
    /// Held by another until this expiry.
    Taken(u64),
    /// Released in the meantime.
    JustFreed,
}

impl GetSet {
    /// The time of this host's clock in milliseconds since 1970.
    pub(super) fn wall_millis(&self) -> u64 {
        unix_micros(self.link.clock().wall()) / 1000
    }

    /// The expiry of a lease that begins now. One millisecond is added, so that rounding never ends the lease early.
    pub(super) fn expiry(&self, ttl: Duration) -> u64 {
        self.wall_millis() + millis(ttl) + 1
    }

    /// The grant that the claim already has, as long as it lasts.
    fn still_held(&self, claim: &Claim) -> Option<Grant> {
        let Holding { values, block, .. } = self.shared.issued.get(claim.id)?;
        let as_of = self.link.now();
        let expiry: u64 = values.first()?.parse().unwrap_or_default();
        let left = expiry.checked_sub(self.wall_millis() + 1).filter(|ms| *ms > 0)?;
        Some(grant(claim, block?, as_of, Duration::from_millis(left)))
    }

    /// The expiry in the key, as it is written there, and the time left; `None` if the lock is free.
    async fn current(&self, name: &Name) -> Result<Option<(Vec<u8>, Duration)>> {
        let Some(value) = self.link.get(name).await? else { return Ok(None) };
        let expiry = parse(&value).map_err(|e| e.with_name(name))?;
        let left = expiry.saturating_sub(self.wall_millis());
        Ok((left > 0).then_some((value, Duration::from_millis(left))))
    }

    /// The three steps of the protocol.
    async fn steps(&self, claim: &Claim, expiry: u64) -> Result<Step> {
        let query = async |cmd: &mut Cmd| self.link.query(cmd).await.map(|(value, _)| value);
        let key = &*claim.name;
        if query(redis::cmd("SETNX").arg(key).arg(expiry)).await? == Value::Int(1) {
            return Ok(Step::Acquired);
        }
        let Value::BulkString(seen) = query(redis::cmd("GET").arg(key)).await? else {
            return Ok(Step::JustFreed);
        };
        let theirs = parse(&seen)?;
        if theirs > self.wall_millis() {
            return Ok(Step::Taken(theirs));
        }
        // The client that gets back the value it has seen was first. The others have overwritten its expiry.
        match query(redis::cmd("GETSET").arg(key).arg(expiry)).await? {
            Value::BulkString(theirs) if theirs != seen => {
                self.put_back(key, &theirs, expiry).await;
                Ok(Step::Taken(expiry))
            }
            _ => Ok(Step::Acquired),
        }
    }

    /// Repairs the damage of a lost race as far as possible: puts back the overwritten expiry if nobody else has written
    /// since. The protocol does not require it, so errors are ignored.
    async fn put_back(&self, key: &str, theirs: &[u8], ours: u64) {
        if let Ok(live) = self.link.live().await {
            let ours = ours.to_string();
            let args = [theirs, b"1", ours.as_bytes()];
            let _ = script::GETSET_EXTEND.run(&live, &[key], &args).await;
        }
    }

    async fn acquire(&self, claim: &Claim) -> Result<Tried> {
        if let Some(held) = self.still_held(claim) {
            return Ok(Tried::Granted(held));
        }
        let (as_of, issued) = (self.link.now(), &self.shared.issued);
        let expiry = self.expiry(claim.ttl);
        let mut step = self.steps(claim, expiry).await;
        if matches!(step, Ok(Step::JustFreed)) {
            // One more attempt; if that fails, somebody else was as fast.
            step = self.steps(claim, expiry).await;
        }
        let step = step.map_err(|e| e.with_name(&claim.name));
        if step.as_ref().is_err_and(Error::outcome_unknown) {
            issued.set_unknown(claim.id, self.link.arrives_by(as_of) + claim.ttl, self.link.now());
        }
        match step? {
            Step::Acquired => {}
            Step::Taken(until) => return Ok(Tried::Taken(until)),
            Step::JustFreed => return Ok(Tried::Taken(0)),
        }
        let block = issued.reserve(claim.turns, self.link.clock().wall());
        let until = as_of + claim.ttl;
        issued.set(claim.id, Holding { values: vec![expiry.to_string()], block: Some(block), until });
        Ok(Tried::Granted(grant(claim, block, as_of, claim.ttl)))
    }

    /// Replaces the value by `rest`, or deletes the key if that is empty, provided the value is one of `ours`. Returns
    /// whether it was.
    async fn replace(&self, name: &Name, rest: &[u8], ours: &[&[u8]]) -> Result<bool> {
        let live = self.link.live().await?;
        let args = [&[rest], ours].concat();
        let answer = script::GETSET_RELEASE.run(&live, &[name], &args).await;
        Ok(text(answer.map_err(|e| explain(e, Sent::Yes).with_name(name))?)? == "f")
    }
}

/// Parses the value of a key.
fn parse(value: &[u8]) -> Result<u64> {
    let expiry = std::str::from_utf8(value).ok().and_then(|t| t.trim().parse().ok());
    expiry.ok_or_else(|| {
        let why = "the value of the key is not an expiry in milliseconds";
        Error::new(ErrorKind::ForeignKey, why).with_backend(SCHEME)
    })
}

impl Steps for GetSet {
    const MODE: &'static str = "getset";
    const VARIANT: &'static str = "redis in mode=getset";
    /// The usual period of code that uses this protocol.
    const RETRY: Duration = Duration::from_millis(10);
    const MIN_TTL: Duration = Duration::from_millis(1);

    fn new(link: Arc<Link>, shared: Arc<Shared>) -> Self {
        Self { link, shared }
    }

    fn link(&self) -> &Arc<Link> {
        &self.link
    }

    fn shared(&self) -> &Shared {
        &self.shared
    }

    fn describe(info: &mut Info) {
        info.level = Level::BestEffort;
        info.caution = Some(CAUTION);
    }

    /// Two claims may write the same millisecond, so an attempt cannot be undone by value: it is carried on until its
    /// outcome is known.
    async fn try_once(&self, claim: &Claim) -> Result<Tried> {
        let (steps, claim, id) = (self.clone(), claim.clone(), claim.id);
        let attempt = async move { steps.acquire(&claim).await };
        self.shared.issued.flights.call(id, attempt).await
    }

    async fn holder(&self, claim: &Claim) -> Result<Option<u64>> {
        match self.link.query(redis::cmd("GET").arg(&*claim.name)).await?.0 {
            Value::BulkString(value) => {
                Ok(Some(parse(&value)?).filter(|theirs| *theirs > self.wall_millis()))
            }
            _ => Ok(None),
        }
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Result<Vec<Result<Extension>>> {
        self.extend_all(grants, ttl).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let issued = &self.shared.issued;
        if let Some(release) = issued.settle(claim.id, || self.link.now()).await {
            return Ok(release);
        }
        let Some(holding) = issued.get(claim.id) else { return Ok(Release::NotHeld) };
        let rest = leave.keep_for.map(|d| self.expiry(d).to_string()).unwrap_or_default();
        let ours: Vec<&[u8]> = holding.values.iter().map(|value| value.as_bytes()).collect();
        let freed = self.replace(&claim.name, rest.as_bytes(), &ours).await?;
        issued.forget(claim.id);
        if !freed {
            return Ok(Release::NotHeld);
        }
        issued.rests.freed(&claim.name, self.link.now());
        Ok(Release::Freed)
    }

    async fn inspect(&self, name: &Name) -> Result<Option<Holder>> {
        let Some((_, left)) = self.current(name).await? else { return Ok(None) };
        let mut holder = Holder::new("unknown: the key contains only an expiry", Mode::Exclusive, 0);
        holder.remaining = Some(left);
        Ok(Some(holder))
    }

    async fn evict(&self, name: &Name, at_once: bool) -> Result<Eviction> {
        let Some((value, _)) = self.current(name).await? else { return Ok(Eviction::NotHeld) };
        if !at_once {
            let why = "mode=getset cannot mark a holder as evicted; evict it at once (--now)";
            return Err(Error::new(ErrorKind::Unsupported, why).with_backend(SCHEME).with_name(name));
        }
        match self.replace(name, b"", &[&value]).await? {
            true => Ok(Eviction::Evicted { token: 0.into() }),
            false => Ok(Eviction::NotHeld),
        }
    }
}

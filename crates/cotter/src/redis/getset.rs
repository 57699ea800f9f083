//! `SETNX` and `GETSET` of an expiry in the client's time.

use super::connection::Link;
use super::faults::{Sent, explain};
use super::polling::{self, Once, Sale, grant, millis};
use super::state::text;
use super::{SCHEME, Shared, doctor, script};
use crate::backend::{Backend, Capabilities, Claim, Extension, Grant, Info, Leave, Level, Release, Until};
use crate::clock::unix_micros;
use crate::{Clock, Error, ErrorKind, Moment, Result};
use async_trait::async_trait;
use redis::{Cmd, Value};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// One connection that speaks the getset protocol.
#[derive(Debug)]
pub(super) struct GetSet {
    link: Arc<Link>,
    shared: Arc<Shared>,
    info: Info,
}

/// How often one who waits asks, if the URL does not say: what the protocol's users do.
const RETRY: Duration = Duration::from_millis(10);

/// Said once for each client.
const CAUTION: &str = "mode=getset has three flaws that cannot be mended from one side: expiry is judged by the clocks of \
    the clients, losers overwrite it, and a late release may free somebody else's lock; use it only beside code that \
    does the same, until that is replaced";

pub(super) fn warn(instance: &str) {
    tracing::warn!(target: "cotter", instance, "{CAUTION}");
}

impl GetSet {
    pub(super) fn new(link: Arc<Link>, shared: Arc<Shared>, _: Arc<dyn Clock>) -> Self {
        let instance = format!("{} (getset: tokens order only cotter's own grants)", shared.options.instance);
        let mut info = Info::new(SCHEME, instance);
        info.level = Level::BestEffort;
        info.caution = Some(CAUTION);
        let min_ttl = Duration::from_millis(1);
        info.capabilities = Capabilities {
            leases: true,
            per_runtime: true,
            keep_for: true,
            min_ttl,
            ..Capabilities::default()
        };
        Self { link, shared, info }
    }

    /// Milliseconds since 1970 by this host's clock.
    fn wall_millis(&self) -> u64 {
        unix_micros(self.link.clock().wall()) / 1000
    }

    /// When a lease that begins now ends: one more, so that rounding never ends it before the holder thinks.
    fn expiry(&self, ttl: Duration) -> u64 {
        self.wall_millis() + millis(ttl) + 1
    }

    fn sale(&self, claim: &Claim, expiry: u64, block: Option<(u64, u16)>) {
        self.shared.sold.set(claim.id, Sale { name: claim.name.clone(), value: expiry.to_string(), block });
    }

    /// The same grant once more, while it lasts.
    fn still_held(&self, claim: &Claim) -> Option<Grant> {
        let Sale { value, block, .. } = self.shared.sold.get(claim.id)?;
        let as_of = self.link.now();
        let left = value.parse::<u64>().ok()?.checked_sub(self.wall_millis() + 1).filter(|ms| *ms > 0)?;
        Some(grant(claim, block?, as_of, Duration::from_millis(left)))
    }

    /// The three steps of the protocol. True: got it.
    async fn steps(&self, claim: &Claim, expiry: u64) -> Result<bool> {
        let ask = async |cmd: &mut Cmd| self.link.ask(cmd).await.map(|(value, _)| value);
        let key = &*claim.name;
        if ask(redis::cmd("SETNX").arg(key).arg(expiry)).await? == Value::Int(1) {
            return Ok(true);
        }
        let seen = ask(redis::cmd("GET").arg(key)).await?;
        let Some(theirs) = parse(&seen)? else { return Ok(false) };
        if theirs > self.wall_millis() {
            return Ok(false);
        }
        // Whoever reads back what it saw was first. The others have overwritten it all the same.
        let old = ask(redis::cmd("GETSET").arg(key).arg(expiry)).await?;
        Ok(old == seen || old == Value::Nil)
    }
}

/// The expiry that stands there; `None` when it has just gone.
fn parse(value: &Value) -> Result<Option<u64>> {
    let Value::BulkString(bytes) = value else { return Ok(None) };
    let number = std::str::from_utf8(bytes).ok().and_then(|t| t.trim().parse().ok());
    number.map(Some).ok_or_else(|| {
        let why = "what stands at the key is no expiry in milliseconds";
        Error::new(ErrorKind::ForeignKey, why).with_backend(SCHEME)
    })
}

impl Once for GetSet {
    async fn once(&self, claim: &Claim) -> Result<Option<Grant>> {
        if let Some(held) = self.still_held(claim) {
            return Ok(Some(held));
        }
        let carrier = self.link.live().await?.number;
        let as_of: Moment = self.link.now();
        let expiry = self.expiry(claim.ttl);
        self.sale(claim, expiry, None);
        self.shared.desk.asks(claim.id, carrier, self.link.stray_until(as_of));
        let got = self.steps(claim, expiry).await.map_err(|e| e.with_name(&claim.name));
        if !got.as_ref().is_err_and(Error::outcome_unknown) {
            self.shared.desk.answered(claim.id, carrier);
            self.shared.sold.forget(claim.id);
        }
        if !got? {
            return Ok(None);
        }
        let block = self.shared.sold.reserve(claim.turns, self.link.clock().wall());
        self.sale(claim, expiry, Some(block));
        Ok(Some(grant(claim, block, as_of, claim.ttl)))
    }
}

#[async_trait]
impl Backend for GetSet {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Option<Grant>> {
        self.info.capabilities.supports(claim.mode, SCHEME)?;
        let retry = self.shared.options.retry.unwrap_or(RETRY);
        polling::acquire(self, &**self.link.clock(), retry, claim, until).await
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let mut answers = Vec::new();
        for grant in grants {
            answers.push(self.extend_one(grant, ttl).await);
        }
        answers
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let Some(sale) = self.shared.sold.get(claim.id) else { return Ok(Release::NotHeld) };
        if sale.block.is_none() && self.shared.sold.is_held_by_another(claim.id, &sale) {
            return Ok(Release::NotHeld);
        }
        let live = self.link.live().await?;
        // One that was never told that it holds has no right beyond its own value.
        let now = if sale.block.is_some() { self.wall_millis().to_string() } else { sale.value.clone() };
        let rest = leave.keep_for.map(|d| self.expiry(d).to_string()).unwrap_or_default();
        let args = [&*sale.value, &*now, &*rest].map(str::as_bytes);
        let answer = script::GETSET_RELEASE.run(&live, &[&claim.name], &args).await;
        let answer = text(answer.map_err(|e| explain(e, Sent::Yes).with_name(&claim.name))?)?;
        let strays = self.shared.desk.may_stray(claim.id, live.number, self.link.now());
        if answer != "f" && strays {
            return Ok(Release::Unsettled);
        }
        self.shared.sold.forget(claim.id);
        Ok(if answer == "f" { Release::Freed } else { Release::NotHeld })
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        doctor::time(&self.link).await.map(|(now, _)| Some(now))
    }

    async fn close(&self) {
        self.link.close();
    }
}

impl GetSet {
    async fn extend_one(&self, grant: &Grant, ttl: Duration) -> Result<Extension> {
        let claim = &grant.claim;
        let Some(sale) = self.shared.sold.get(claim.id) else { return Ok(Extension::Lost) };
        let as_of = self.link.now();
        let expiry = self.expiry(ttl);
        let now = self.wall_millis();
        let ours: u64 = sale.value.parse().unwrap_or_default();
        if ours > expiry {
            let left = Duration::from_millis(ours - now - 1);
            return Ok(Extension::Extended { as_of, ttl: Some(left) });
        }
        let (new, now) = (expiry.to_string(), now.to_string());
        let live = self.link.live().await?;
        let args = [&*sale.value, &*new, &*now].map(str::as_bytes);
        let answer = script::GETSET_EXTEND.run(&live, &[&claim.name], &args).await;
        let answer = text(answer.map_err(|e| explain(e, Sent::Yes).with_name(&claim.name))?)?;
        if answer != "f" {
            return Ok(Extension::Lost);
        }
        self.sale(claim, expiry, sale.block);
        Ok(Extension::Extended { as_of, ttl: Some(ttl) })
    }
}

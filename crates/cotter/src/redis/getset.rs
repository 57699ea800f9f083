//! `SETNX` and `GETSET` of an expiry in the client's time.

use super::connection::Link;
use super::faults::{Sent, explain, garbled};
use super::pace::Pauses;
use super::polling::{self, Once, Sale, Tried, grant, millis};
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

/// How often one who has waited for long asks, if the URL does not say: what the protocol's users do.
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

    /// The three steps of the protocol.
    async fn steps(&self, claim: &Claim, expiry: u64) -> Result<Step> {
        let ask = async |cmd: &mut Cmd| self.link.ask(cmd).await.map(|(value, _)| value);
        let key = &*claim.name;
        if ask(redis::cmd("SETNX").arg(key).arg(expiry)).await? == Value::Int(1) {
            return Ok(Step::Got);
        }
        let seen = ask(redis::cmd("GET").arg(key)).await?;
        let Some(theirs) = parse(&seen)? else { return Ok(Step::JustFreed) };
        if theirs > self.wall_millis() {
            return Ok(Step::Taken(theirs));
        }
        // Whoever reads back what it saw was first. The others have overwritten it all the same.
        let old = ask(redis::cmd("GETSET").arg(key).arg(expiry)).await?;
        Ok(if old == seen || old == Value::Nil { Step::Got } else { Step::Taken(expiry) })
    }
}

/// How far the protocol got.
enum Step {
    Got,
    /// Somebody has it until then.
    Taken(u64),
    /// It was given back meanwhile.
    JustFreed,
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
    async fn once(&self, claim: &Claim) -> Result<Tried> {
        if let Some(held) = self.still_held(claim) {
            return Ok(Tried::Granted(held));
        }
        let carrier = self.link.live().await?.number;
        let as_of: Moment = self.link.now();
        let expiry = self.expiry(claim.ttl);
        self.sale(claim, expiry, None);
        self.shared.desk.asks(claim.id, carrier, self.link.stray_until(as_of));
        let got = async {
            match self.steps(claim, expiry).await? {
                // Once more; if that fails, somebody else was as quick.
                Step::JustFreed => self.steps(claim, expiry).await,
                step => Ok(step),
            }
        };
        let got = got.await.map_err(|e| e.with_name(&claim.name));
        if !got.as_ref().is_err_and(Error::outcome_unknown) {
            self.shared.desk.answered(claim.id, carrier);
            self.shared.sold.forget(claim.id);
        }
        match got? {
            Step::Got => {}
            Step::Taken(until) => return Ok(Tried::Taken(until)),
            Step::JustFreed => return Ok(Tried::Taken(0)),
        }
        let block = self.shared.sold.reserve(claim.turns, self.link.clock().wall());
        self.sale(claim, expiry, Some(block));
        Ok(Tried::Granted(grant(claim, block, as_of, claim.ttl)))
    }

    async fn holder(&self, claim: &Claim) -> Result<Option<u64>> {
        let (seen, _) = self.link.ask(redis::cmd("GET").arg(&*claim.name)).await?;
        Ok(parse(&seen)?.filter(|theirs| *theirs > self.wall_millis()))
    }
}

#[async_trait]
impl Backend for GetSet {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Option<Grant>> {
        self.info.capabilities.supports(claim.mode, SCHEME)?;
        let pauses = Pauses::up_to(self.shared.options.retry.unwrap_or(RETRY));
        polling::acquire(self, (&**self.link.clock(), &self.shared.sold.rests, pauses), claim, until).await
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        polling::extend(grants, |some| self.extend_some(some, ttl)).await
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
        if answer != "f" {
            return Ok(Release::NotHeld);
        }
        self.shared.sold.rests.freed(&claim.name, self.link.now());
        Ok(Release::Freed)
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        doctor::time(&self.link).await.map(|(now, _)| Some(now))
    }

    async fn close(&self) {
        self.link.close();
    }
}

impl GetSet {
    async fn extend_some(&self, grants: &[&Grant], ttl: Duration) -> Result<Vec<Result<Extension>>> {
        let live = self.link.live().await?;
        let (as_of, now, expiry) = (self.link.now(), self.wall_millis(), self.expiry(ttl));
        let plans: Vec<Plan> = grants.iter().map(|grant| self.plan(&grant.claim, now, expiry)).collect();
        let (mut keys, mut args) = (Vec::new(), vec![now.to_string()]);
        for (grant, plan) in grants.iter().zip(&plans) {
            if let Plan::Ask(sale) = plan {
                keys.push(&*grant.claim.name);
                args.extend([sale.value.clone(), expiry.to_string()]);
            }
        }
        let args: Vec<&[u8]> = args.iter().map(|argument| argument.as_bytes()).collect();
        let answer = match keys.is_empty() {
            true => String::new(),
            false => {
                let answer = script::GETSET_EXTEND.run(&live, &keys, &args).await;
                text(answer.map_err(|e| explain(e, Sent::Yes))?)?
            }
        };
        let mut answers = answer.chars();
        let mut extension = |claim: &Claim, plan| match plan {
            Plan::Lost => Ok(Extension::Lost),
            Plan::Lasts(left) => Ok(Extension::Extended { as_of, ttl: Some(left) }),
            Plan::Ask(sale) => match answers.next() {
                Some('f') => {
                    self.sale(claim, expiry, sale.block);
                    Ok(Extension::Extended { as_of, ttl: Some(ttl) })
                }
                Some('n') => Ok(Extension::Lost),
                _ => Err(garbled(&answer)),
            },
        };
        Ok(grants.iter().zip(plans).map(|(grant, plan)| extension(&grant.claim, plan)).collect())
    }

    fn plan(&self, claim: &Claim, now: u64, expiry: u64) -> Plan {
        let Some(sale) = self.shared.sold.get(claim.id) else { return Plan::Lost };
        let ours: u64 = sale.value.parse().unwrap_or_default();
        if ours > expiry { Plan::Lasts(Duration::from_millis(ours - now - 1)) } else { Plan::Ask(sale) }
    }
}

/// What to do about one grant that is to be extended.
enum Plan {
    Lost,
    /// It lasts longer as it is.
    Lasts(Duration),
    Ask(Sale),
}

//! `SETNX` and `GETSET` of an expiry in the client's time.

use super::admin::value_at;
use super::pace::Pauses;
use super::polling::{self, Once, Sale, Tried, grant, millis};
use crate::backend::{
    Admin, Backend, Capabilities, Claim, Extension, Grant, Info, Leave, Level, Release, Until,
};
use crate::clock::unix_micros;
use crate::redis::connection::Link;
use crate::redis::errors::{Sent, explain, garbled};
use crate::redis::state::text;
use crate::redis::{SCHEME, Shared, doctor, script};
use crate::{Clock, Error, ErrorKind, LossCause, Moment, Name, Result};
use async_trait::async_trait;
use redis::{Cmd, Value};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// One connection that speaks the getset protocol.
#[derive(Debug, Clone)]
pub(in crate::redis) struct GetSet {
    pub(in crate::redis) link: Arc<Link>,
    pub(in crate::redis) shared: Arc<Shared>,
    info: Info,
}

/// How often one who has waited for long asks, if the URL does not say: what the protocol's users do.
const RETRY: Duration = Duration::from_millis(10);

/// Said once for each client.
const CAUTION: &str = "mode=getset has three flaws that cannot be mended from one side: expiry is judged by the clocks of \
    the clients, losers overwrite it, and a late release of the other code may free somebody else's lock; use it only \
    beside code that does the same, until that is replaced";

pub(in crate::redis) fn warn(instance: &str) {
    tracing::warn!(target: "cotter", instance, "{CAUTION}");
}

impl GetSet {
    pub(in crate::redis) fn new(link: Arc<Link>, shared: Arc<Shared>, _: Arc<dyn Clock>) -> Self {
        let instance = format!("{} (getset: tokens order only cotter's own grants)", shared.options.instance);
        let mut info = Info::new(SCHEME, instance);
        info.level = Level::BestEffort;
        info.caution = Some(CAUTION);
        info.variant = super::admin::variant(shared.options.mode);
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

    /// The same grant once more, while it lasts.
    fn still_held(&self, claim: &Claim) -> Option<Grant> {
        let Sale { values, block, .. } = self.shared.sold.get(claim.id)?;
        let as_of = self.link.now();
        let left = millis_of(values.first()?).checked_sub(self.wall_millis() + 1).filter(|ms| *ms > 0)?;
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
        match old {
            Value::BulkString(theirs) if old_differs(&seen, &theirs) => {
                self.put_back(key, &theirs, expiry).await;
                Ok(Step::Taken(expiry))
            }
            _ => Ok(Step::Got),
        }
    }

    /// Undoes the damage of a lost race as far as one loser can: what it has overwritten comes back if nobody else has
    /// written meanwhile. The protocol does not ask for it, so whether it works is nobody's business.
    async fn put_back(&self, key: &str, theirs: &[u8], ours: u64) {
        if let Ok(live) = self.link.live().await {
            let ours = ours.to_string();
            let args = [theirs, b"1", ours.as_bytes()];
            let _ = script::GETSET_EXTEND.run(&live, &[key], &args).await;
        }
    }

    async fn ask(self, claim: Claim) -> Result<Tried> {
        if let Some(held) = self.still_held(&claim) {
            return Ok(Tried::Granted(held));
        }
        let (as_of, sold) = (self.link.now(), &self.shared.sold);
        let expiry = self.expiry(claim.ttl);
        let got = async {
            match self.steps(&claim, expiry).await? {
                // Once more; if that fails, somebody else was as quick.
                Step::JustFreed => self.steps(&claim, expiry).await,
                step => Ok(step),
            }
        };
        let got = got.await.map_err(|e| e.with_name(&claim.name));
        if got.as_ref().is_err_and(Error::outcome_unknown) {
            sold.doubt(claim.id, self.link.stray_until(as_of) + claim.ttl, self.link.now());
        }
        match got? {
            Step::Got => {}
            Step::Taken(until) => return Ok(Tried::Taken(until)),
            Step::JustFreed => return Ok(Tried::Taken(0)),
        }
        let block = sold.reserve(claim.turns, self.link.clock().wall());
        let until = as_of + claim.ttl;
        sold.set(claim.id, Sale { values: vec![expiry.to_string()], block: Some(block), until });
        Ok(Tried::Granted(grant(&claim, block, as_of, claim.ttl)))
    }
}

fn old_differs(seen: &Value, old: &[u8]) -> bool {
    !matches!(seen, Value::BulkString(seen) if seen == old)
}

fn millis_of(expiry: &str) -> u64 {
    expiry.parse().unwrap_or_default()
}

/// How far the protocol got.
enum Step {
    Got,
    /// Somebody has it until then.
    Taken(u64),
    /// It was given back meanwhile.
    JustFreed,
}

impl GetSet {
    /// The expiry that stands at the key, as it is written there, and how long it still lasts; `None` when it is free.
    pub(in crate::redis) async fn ends(&self, name: &Name) -> Result<Option<(Vec<u8>, Duration)>> {
        let Some(value) = value_at(&self.link, name).await? else { return Ok(None) };
        let theirs = parse(&Value::BulkString(value.clone())).map_err(|e| e.with_name(name))?;
        let left = theirs.unwrap_or_default().saturating_sub(self.wall_millis());
        Ok((left > 0).then_some((value, Duration::from_millis(left))))
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
    /// Two claims may write the same millisecond, so none is undone by it: the answer is waited for instead.
    async fn once(&self, claim: &Claim) -> Result<Tried> {
        let asking = Box::pin(self.clone().ask(claim.clone()));
        self.shared.sold.calls.ask(claim.id, asking).await
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
        let sold = &self.shared.sold;
        sold.calls.land(claim.id).await;
        if let Some(release) = sold.untouched(claim.id, self.link.now()) {
            return Ok(release);
        }
        let Some(sale) = sold.get(claim.id) else { return Ok(Release::NotHeld) };
        let rest = leave.keep_for.map(|d| self.expiry(d).to_string()).unwrap_or_default();
        let mut args = vec![rest.as_bytes()];
        args.extend(sale.values.iter().map(String::as_bytes));
        let live = self.link.live().await?;
        let answer = script::GETSET_RELEASE.run(&live, &[&claim.name], &args).await;
        let answer = text(answer.map_err(|e| explain(e, Sent::Yes).with_name(&claim.name))?)?;
        sold.forget(claim.id);
        if answer != "f" {
            return Ok(Release::NotHeld);
        }
        sold.rests.freed(&claim.name, self.link.now());
        Ok(Release::Freed)
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        doctor::time(&self.link).await.map(|(now, _)| Some(now))
    }

    async fn close(&self) {
        self.link.close();
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }
}

impl GetSet {
    async fn extend_some(&self, grants: &[&Grant], ttl: Duration) -> Result<Vec<Result<Extension>>> {
        let live = self.link.live().await?;
        let (as_of, now, expiry) = (self.link.now(), self.wall_millis(), self.expiry(ttl));
        let plans: Vec<Plan> = grants.iter().map(|grant| self.plan(&grant.claim, expiry)).collect();
        let (mut keys, mut args) = (Vec::new(), Vec::new());
        for (grant, plan) in grants.iter().zip(&plans) {
            keys.push(&*grant.claim.name);
            args.extend([plan.expiry.to_string(), plan.ours.len().to_string()]);
            args.extend_from_slice(&plan.ours);
        }
        let args: Vec<&[u8]> = args.iter().map(|argument| argument.as_bytes()).collect();
        let answer = script::GETSET_EXTEND.run(&live, &keys, &args).await;
        let answer = text(answer.map_err(|e| explain(e, Sent::Yes))?)?;
        let extension = |((grant, plan), moved): ((&&Grant, Plan), char)| match moved {
            'f' => {
                let left = Duration::from_millis((plan.expiry - 1).saturating_sub(now));
                self.arrived(&grant.claim, &plan.expiry.to_string(), as_of + left);
                Ok(Extension::Extended { as_of, ttl: Some(left) })
            }
            'n' => {
                self.refused(&grant.claim, &plan);
                Ok(Extension::Lost(LossCause::Gone))
            }
            _ => Err(garbled(&answer)),
        };
        Ok(grants.iter().zip(plans).zip(answer.chars()).map(extension).collect())
    }

    /// What to write, never less than before, and what may stand there. Noted before it leaves: if no answer comes,
    /// either may be there.
    fn plan(&self, claim: &Claim, expiry: u64) -> Plan {
        let ours = self.shared.sold.get(claim.id).map(|sale| sale.values).unwrap_or_default();
        let expiry = ours.iter().map(|before| millis_of(before)).fold(expiry, u64::max);
        let new = expiry.to_string();
        if !ours.contains(&new) {
            self.shared.sold.change(claim.id, |sale| sale.values.push(new));
        }
        Plan { expiry, ours }
    }

    /// Nothing was written: should the same stand there, somebody else has written it within the same millisecond.
    fn refused(&self, claim: &Claim, plan: &Plan) {
        let new = plan.expiry.to_string();
        if !plan.ours.contains(&new) {
            self.shared.sold.change(claim.id, |sale| sale.values.retain(|value| *value != new));
        }
    }

    /// What was written before it does not stand there any more.
    fn arrived(&self, claim: &Claim, expiry: &str, until: Moment) {
        self.shared.sold.change(claim.id, |sale| {
            let known = sale.values.iter().position(|value| value == expiry).unwrap_or_default();
            sale.values.drain(..known);
            sale.until = sale.until.max(until);
        });
    }
}

/// How one grant is extended.
struct Plan {
    expiry: u64,
    /// Nothing for a claim that holds nothing: then it is lost, whatever stands there.
    ours: Vec<String>,
}

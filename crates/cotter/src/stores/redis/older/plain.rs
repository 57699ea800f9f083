//! `SET name value NX PX`, compare-and-delete, compare-and-expire.

use super::backend::{Older, Steps, Tried, grant, millis};
use super::issued::Holding;
use crate::backend::{Claim, ClaimId, Eviction, Extension, Grant, Holder, Leave, Member, Mode, Release};
use crate::stores::redis::connection::Link;
use crate::stores::redis::errors::{Sent, explain, unexpected};
use crate::stores::redis::script::Script;
use crate::stores::redis::state::{bytes, text};
use crate::stores::redis::{SCHEME, Shared, script};
use crate::{Error, ErrorKind, LossCause, Lost, Moment, Name, Result};
use redis::{Cmd, Value};
use std::sync::Arc;
use std::time::Duration;

/// The steps of the plain protocol.
#[derive(Debug, Clone)]
pub(in crate::stores::redis) struct Plain {
    link: Arc<Link>,
    shared: Arc<Shared>,
}

/// The value that replaces that of an evicted holder. It belongs to nobody and ends with the lease.
const EVICTED: &[u8] = b"cotter: evicted";

/// The state of a key.
enum Look {
    /// The value is this claim's.
    Ours(Grant),
    /// Held by another; the number identifies the holder.
    Taken(u64),
    Free,
}

impl Plain {
    /// Whether the caller has chosen the value. All claims store the same value then, so it proves nothing.
    fn is_chosen(&self) -> bool {
        self.shared.options.request_id.is_some()
    }

    /// The value to store: unique for each claim, unless the caller has chosen it.
    fn value(&self, claim: &Claim) -> String {
        self.shared.options.request_id.clone().unwrap_or_else(|| claim.id.to_string())
    }

    /// Reserves tokens for a claim that was granted.
    fn issue(&self, claim: &Claim, as_of: Moment) -> (u64, u16) {
        let block = self.shared.issued.reserve(claim.turns, self.link.clock().wall());
        let until = as_of + claim.ttl;
        self.shared.issued.set(claim.id, Holding { values: Vec::new(), block: Some(block), until });
        block
    }

    /// The block of a claim that may release or extend by its value now. A chosen value counts only as long as the lease
    /// lasts: after that, it may be the next holder's.
    fn block(&self, claim: &Claim) -> Option<(u64, u16)> {
        let holding = self.shared.issued.get(claim.id)?;
        holding.block.filter(|_| !self.is_chosen() || self.link.now() < holding.until)
    }

    async fn run(&self, script: &Script, keys: &[&str], args: &[&[u8]]) -> Result<Value> {
        let live = self.link.live().await?;
        script.run(&live, keys, args).await.map_err(|e| explain(e, Sent::Yes))
    }

    /// Sets the key if it is free.
    async fn set(&self, claim: &Claim, value: &str) -> Result<Option<Grant>> {
        let live = self.link.live().await?;
        let mut set = Cmd::with_capacity(6, claim.name.len() + value.len() + 32);
        set.arg("SET").arg(&*claim.name).arg(value).arg("NX").arg("PX").arg(millis(claim.ttl));
        let as_of = self.link.now();
        let request = self.shared.in_flight.send(claim.id, live.number, self.link.arrives_by(as_of));
        let answer = live.query(&set).await.map_err(|e| explain(e, Sent::Yes).with_name(&claim.name));
        if !answer.as_ref().is_err_and(Error::outcome_unknown) {
            request.answered();
        }
        match answer? {
            Value::Okay => Ok(Some(grant(claim, self.issue(claim, as_of), as_of, claim.ttl))),
            Value::Nil => Ok(None),
            other => Err(unexpected(&format!("{other:?}"))),
        }
    }

    /// Identifies the holder of a key that is taken.
    async fn look(&self, claim: &Claim, value: &str) -> Result<Look> {
        let live = self.link.live().await?;
        let as_of = self.link.now();
        let answer = script::PLAIN_LOOK.run(&live, &[&claim.name], &[value.as_bytes()]).await;
        let answer = text(answer.map_err(|e| explain(e, Sent::Yes).with_name(&claim.name))?)?;
        if answer == "f" {
            return Ok(Look::Free);
        }
        let (left, digest) =
            answer.get(1..).and_then(|a| a.split_once(' ')).ok_or_else(|| unexpected(&answer))?;
        let holder = u64::from_str_radix(digest, 16).map_err(|_| unexpected(&answer))?;
        // A value that others may choose too does not prove that the lock is this claim's.
        let known = self.shared.issued.get(claim.id).and_then(|holding| holding.block);
        let block = match known {
            _ if !answer.starts_with('o') => return Ok(Look::Taken(holder)),
            Some(block) => block,
            None if self.is_chosen() => return Ok(Look::Taken(holder)),
            None => self.issue(claim, as_of),
        };
        let left = left.parse::<i64>().map_err(|_| unexpected(left))?;
        Ok(Look::Ours(grant(claim, block, as_of, Duration::from_millis(left.max(0) as u64))))
    }

    async fn look_or_set(&self, claim: &Claim, value: &str) -> Result<Tried> {
        Ok(match self.look(claim, value).await? {
            Look::Ours(grant) => Tried::Granted(grant),
            Look::Taken(holder) => Tried::Taken(holder),
            // Released between the two requests. One more attempt; if that fails, somebody else was faster.
            Look::Free => self.set(claim, value).await?.map_or(Tried::Taken(0), Tried::Granted),
        })
    }

    async fn set_or_look(&self, claim: &Claim) -> Result<Tried> {
        let value = self.value(claim);
        match self.set(claim, &value).await? {
            Some(grant) => Ok(Tried::Granted(grant)),
            // Boxed, or the future of an attempt that succeeds would have room for it.
            None => Box::pin(self.look_or_set(claim, &value)).await,
        }
    }

    /// Tries with a value that cannot be undone by value: the attempt is carried on until its outcome is known, or known
    /// to be uncertain.
    async fn try_chosen(&self, claim: &Claim) -> Result<Tried> {
        let (steps, claim, id) = (self.clone(), claim.clone(), claim.id);
        let attempt = async move {
            let as_of = steps.link.now();
            let answer = steps.set_or_look(&claim).await;
            if answer.as_ref().is_err_and(Error::outcome_unknown) {
                let until = steps.link.arrives_by(as_of) + claim.ttl;
                steps.shared.issued.set_unknown(claim.id, until, steps.link.now());
            }
            answer
        };
        self.shared.issued.flights.call(id, attempt).await
    }

    /// The answer to a release that found another value.
    fn not_ours(&self, claim: &Claim, number: u64, theirs: &[u8]) -> Result<Release> {
        let Some(ours) = &self.shared.options.request_id else { return Ok(Release::NotHeld) };
        let (name, theirs) = (&claim.name, String::from_utf8_lossy(theirs));
        let why = format!("{name:?} is held under the request id {theirs:?}, not {ours:?}");
        let lost = Lost { name: name.clone(), token: number.into(), cause: LossCause::Gone };
        Err(Error::new(ErrorKind::Denied, why).with_backend(SCHEME).with_name(name).with_lost(lost))
    }

    /// Describes the holder by its value, and for a claim of this process also by its token.
    fn describe_holder(&self, value: &[u8]) -> Holder {
        let id = std::str::from_utf8(value).ok().and_then(ClaimId::parse);
        let block = id.and_then(|id| self.shared.issued.get(id)?.block);
        let number = block.map_or(0, |(number, _)| number);
        Holder::new(format!("value {}", value.escape_ascii()), Mode::Exclusive, number)
    }
}

impl Steps for Plain {
    const MODE: &'static str = "plain";
    const VARIANT: &'static str = "redis in mode=plain";
    const RETRY: Duration = Duration::from_millis(50);
    const MIN_TTL: Duration = Duration::from_millis(5);

    fn new(link: Arc<Link>, shared: Arc<Shared>) -> Self {
        Self { link, shared }
    }

    fn link(&self) -> &Arc<Link> {
        &self.link
    }

    fn shared(&self) -> &Shared {
        &self.shared
    }

    async fn try_once(&self, claim: &Claim) -> Result<Tried> {
        match self.is_chosen() {
            false => self.set_or_look(claim).await,
            true => Box::pin(self.try_chosen(claim)).await,
        }
    }

    async fn holder(&self, claim: &Claim) -> Result<Option<u64>> {
        match self.look(claim, &self.value(claim)).await? {
            Look::Taken(holder) => Ok(Some(holder)),
            Look::Free | Look::Ours(_) => Ok(None),
        }
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Result<Vec<Result<Extension>>> {
        let keys: Vec<&str> = grants.iter().map(|g| &*g.claim.name).collect();
        // Where values are chosen, no value is a claim id, so this one is found nowhere.
        let value = |g: &&Grant| match self.is_chosen() && self.block(&g.claim).is_none() {
            true => g.claim.id.to_string(),
            false => self.value(&g.claim),
        };
        let values: Vec<String> = grants.iter().map(value).collect();
        let wanted = millis(ttl).to_string();
        let mut args = vec![wanted.as_bytes(), EVICTED];
        args.extend(values.iter().map(String::as_bytes));
        let live = self.link.live().await?;
        let as_of = self.link.now();
        let answer = script::PLAIN_EXTEND.run(&live, &keys, &args).await;
        let answer = text(answer.map_err(|e| explain(e, Sent::Yes))?)?;
        let extension = |(left, grant): (&str, &&Grant)| match left.parse() {
            _ if left == "-" => Ok(Extension::Lost(LossCause::Gone)),
            _ if left == "e" => Ok(Extension::Lost(LossCause::Evicted)),
            Ok(left) => {
                let left = Duration::from_millis(left);
                if self.is_chosen() {
                    let later = |holding: &mut Holding| holding.until = holding.until.max(as_of + left);
                    self.shared.issued.change(grant.claim.id, later);
                }
                Ok(Extension::Extended { as_of, ttl: Some(left) })
            }
            Err(_) => Err(unexpected(left)),
        };
        Ok(answer.split(' ').zip(grants).map(extension).collect())
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let issued = &self.shared.issued;
        if self.is_chosen() {
            if let Some(release) = issued.settle(claim.id, || self.link.now()).await {
                return Ok(release);
            }
            if self.block(claim).is_none() {
                issued.forget(claim.id);
                return Ok(Release::NotHeld);
            }
        }
        let live = self.link.live().await?;
        let value = self.value(claim);
        let rest = leave.keep_for.map(|d| millis(d).to_string()).unwrap_or_default();
        let args = [&*value, &*rest, "left behind"].map(str::as_bytes);
        let answer = script::PLAIN_RELEASE.run(&live, &[&claim.name], &args).await;
        let answer = bytes(answer.map_err(|e| explain(e, Sent::Yes).with_name(&claim.name))?)?;
        let number = self.block(claim).map_or(0, |(number, _)| number);
        issued.forget(claim.id);
        let now = self.link.now();
        let stray = self.shared.in_flight.stray_until(claim.id, live.number, now);
        match (answer.split_first(), stray) {
            (Some((b'f', _)), _) => {
                issued.rests.freed(&claim.name, now);
                Ok(Release::Freed)
            }
            (_, Some(until)) => Ok(Release::NotHeld.unsettled(until)),
            (Some((b'o', theirs)), _) if theirs == EVICTED => Ok(Release::Evicted),
            (Some((b'o', theirs)), _) => self.not_ours(claim, number, theirs),
            (Some((b'n', _)), _) => Ok(Release::NotHeld),
            _ => Err(unexpected(&String::from_utf8_lossy(&answer))),
        }
    }

    fn member(older: &Older<Self>) -> Option<&dyn Member> {
        Some(older)
    }

    async fn inspect(&self, name: &Name) -> Result<Option<Holder>> {
        let Some(value) = self.link.get(name).await? else { return Ok(None) };
        let mut holder = match value == EVICTED {
            true => Holder::new("nobody: evicted", Mode::Exclusive, 0),
            false => self.describe_holder(&value),
        };
        holder.remaining = match self.link.query(redis::cmd("PTTL").arg(&**name)).await?.0 {
            Value::Int(ms @ 0..) => Some(Duration::from_millis(ms as u64)),
            // Released in the meantime.
            Value::Int(-2) => return Ok(None),
            _ => None,
        };
        Ok(Some(holder))
    }

    async fn evict(&self, name: &Name, at_once: bool) -> Result<Eviction> {
        let Some(value) = self.link.get(name).await? else { return Ok(Eviction::NotHeld) };
        let token = self.describe_holder(&value).token;
        let when: &[u8] = if at_once { b"now" } else { b"" };
        let answer = self.run(&script::PLAIN_EVICT, &[name], &[&value, EVICTED, when]).await;
        match &*text(answer?)? {
            "f" => Ok(Eviction::Evicted { token }),
            "n" => Ok(Eviction::NotHeld),
            "e" => {
                let why = "the lock has no expiry, so it would never pass on; evict it at once (--now)";
                Err(Error::new(ErrorKind::Unsupported, why).with_backend(SCHEME).with_name(name))
            }
            other => Err(unexpected(other)),
        }
    }
}

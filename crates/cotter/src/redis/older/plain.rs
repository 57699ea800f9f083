//! `SET name value NX PX`, compare-and-delete, compare-and-expire.

use super::admin::EVICTED;
use super::pace::Pauses;
use super::polling::{self, Once, Sale, Tried, grant, millis};
use crate::backend::{Admin, Backend, Capabilities, Claim, Extension, Grant, Info, Leave, Release, Until};
use crate::redis::connection::Link;
use crate::redis::errors::{Sent, explain, garbled};
use crate::redis::state::{bytes, text};
use crate::redis::{SCHEME, Shared, doctor, script};
use crate::{Clock, Error, ErrorKind, LossCause, Lost, Moment, Result};
use async_trait::async_trait;
use redis::{Cmd, Value};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// One connection that speaks the plain protocol.
#[derive(Debug, Clone)]
pub(in crate::redis) struct Plain {
    pub(in crate::redis) link: Arc<Link>,
    pub(in crate::redis) shared: Arc<Shared>,
    info: Info,
}

/// How often one who has waited for long asks, if the URL does not say.
const RETRY: Duration = Duration::from_millis(50);

impl Plain {
    pub(in crate::redis) fn new(link: Arc<Link>, shared: Arc<Shared>, _: Arc<dyn Clock>) -> Self {
        let instance = format!("{} (plain: tokens order only cotter's own grants)", shared.options.instance);
        let mut info = Info::new(SCHEME, instance);
        info.variant = super::admin::variant(shared.options.mode);
        let min_ttl = Duration::from_millis(5);
        info.capabilities = Capabilities {
            leases: true,
            per_runtime: true,
            keep_for: true,
            min_ttl,
            ..Capabilities::default()
        };
        Self { link, shared, info }
    }

    /// The caller chose the value: all claims of all who chose it store the same, so it proves nothing.
    fn is_chosen(&self) -> bool {
        self.shared.options.request_id.is_some()
    }

    /// What is stored: unique for every claim, unless the caller chose it.
    fn value(&self, claim: &Claim) -> String {
        self.shared.options.request_id.clone().unwrap_or_else(|| claim.id.to_string())
    }

    /// Whose the taken key is.
    async fn look(&self, claim: &Claim, value: &str) -> Result<Look> {
        let live = self.link.live().await?;
        let as_of = self.link.now();
        let answer = script::PLAIN_LOOK.run(&live, &[&claim.name], &[value.as_bytes()]).await;
        let answer = text(answer.map_err(|e| explain(e, Sent::Yes).with_name(&claim.name))?)?;
        if answer == "f" {
            return Ok(Look::Free);
        }
        let (left, digest) =
            answer.get(1..).and_then(|a| a.split_once(' ')).ok_or_else(|| garbled(&answer))?;
        let holder = u64::from_str_radix(digest, 16).map_err(|_| garbled(&answer))?;
        // A value that others may choose too does not prove that it is this claim's.
        let known = self.shared.sold.get(claim.id).and_then(|s| s.block);
        let block = match (known, &self.shared.options.request_id) {
            _ if !answer.starts_with('o') => return Ok(Look::Taken(holder)),
            (Some(block), _) => block,
            (None, Some(_)) => return Ok(Look::Taken(holder)),
            (None, None) => self.sell(claim, as_of),
        };
        let left = left.parse::<i64>().map_err(|_| garbled(left))?;
        Ok(Look::Ours(grant(claim, block, as_of, Duration::from_millis(left.max(0) as u64))))
    }

    fn sell(&self, claim: &Claim, as_of: Moment) -> (u64, u16) {
        let block = self.shared.sold.reserve(claim.turns, self.link.clock().wall());
        let until = as_of + claim.ttl;
        self.shared.sold.set(claim.id, Sale { values: Vec::new(), block: Some(block), until });
        block
    }

    /// Whose lock it is now, for one who released with another value.
    fn refused(&self, claim: &Claim, number: u64, theirs: &[u8]) -> Result<Release> {
        let Some(ours) = &self.shared.options.request_id else { return Ok(Release::NotHeld) };
        let (name, theirs) = (&claim.name, String::from_utf8_lossy(theirs));
        let why = format!("{name:?} is held under the request id {theirs:?}, not {ours:?}");
        let lost = Lost { name: name.clone(), token: number.into(), cause: LossCause::Gone };
        Err(Error::new(ErrorKind::Denied, why).with_backend(SCHEME).with_name(name).with_lost(lost))
    }

    /// The block of a claim that may free or extend by its value just now. A chosen one only while its lease runs: after
    /// that it is the value of whoever came next.
    fn block(&self, claim: &Claim) -> Option<(u64, u16)> {
        let sale = self.shared.sold.get(claim.id)?;
        sale.block.filter(|_| !self.is_chosen() || self.link.now() < sale.until)
    }
}

/// What a look at a key has found.
enum Look {
    Ours(Grant),
    /// Somebody has it; the number tells holders apart.
    Taken(u64),
    Free,
}

impl Plain {
    /// Sets the key if nobody has it.
    async fn set(&self, claim: &Claim, value: &str) -> Result<Option<Grant>> {
        let live = self.link.live().await?;
        let mut set = Cmd::with_capacity(6, claim.name.len() + value.len() + 32);
        set.arg("SET").arg(&*claim.name).arg(value).arg("NX").arg("PX").arg(millis(claim.ttl));
        let as_of = self.link.now();
        let asked = self.shared.desk.asks(claim.id, live.number, self.link.stray_until(as_of));
        let answer = live.ask(&set).await.map_err(|e| explain(e, Sent::Yes).with_name(&claim.name));
        if !answer.as_ref().is_err_and(Error::outcome_unknown) {
            asked.answered();
        }
        match answer? {
            Value::Okay => Ok(Some(grant(claim, self.sell(claim, as_of), as_of, claim.ttl))),
            Value::Nil => Ok(None),
            other => Err(garbled(&format!("{other:?}"))),
        }
    }

    async fn ask(&self, claim: &Claim) -> Result<Tried> {
        let value = self.value(claim);
        match self.set(claim, &value).await? {
            Some(grant) => Ok(Tried::Granted(grant)),
            // Boxed, or one try that succeeds would carry the room for it.
            None => Box::pin(self.look_or_set(claim, &value)).await,
        }
    }

    /// The same, for a value that cannot be undone: what came of it is known in the end, or known to be in doubt.
    async fn ask_under_a_chosen_value(self, claim: Claim) -> Result<Tried> {
        let as_of = self.link.now();
        let answer = self.ask(&claim).await;
        if answer.as_ref().is_err_and(Error::outcome_unknown) {
            let until = self.link.stray_until(as_of) + claim.ttl;
            self.shared.sold.doubt(claim.id, until, self.link.now());
        }
        answer
    }

    async fn look_or_set(&self, claim: &Claim, value: &str) -> Result<Tried> {
        Ok(match self.look(claim, value).await? {
            Look::Ours(grant) => Tried::Granted(grant),
            Look::Taken(holder) => Tried::Taken(holder),
            // Given back between the two. Once more, and if that fails somebody else was as quick.
            Look::Free => self.set(claim, value).await?.map_or(Tried::Taken(0), Tried::Granted),
        })
    }
}

impl Once for Plain {
    async fn once(&self, claim: &Claim) -> Result<Tried> {
        if !self.is_chosen() {
            return self.ask(claim).await;
        }
        let asking = Box::pin(self.clone().ask_under_a_chosen_value(claim.clone()));
        self.shared.sold.calls.ask(claim.id, asking).await
    }

    async fn holder(&self, claim: &Claim) -> Result<Option<u64>> {
        match self.look(claim, &self.value(claim)).await? {
            Look::Taken(holder) => Ok(Some(holder)),
            Look::Free | Look::Ours(_) => Ok(None),
        }
    }
}

#[async_trait]
impl Backend for Plain {
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
        if self.is_chosen() {
            self.shared.sold.calls.land(claim.id).await;
            if let Some(release) = self.shared.sold.untouched(claim.id, self.link.now()) {
                return Ok(release);
            }
            if self.block(claim).is_none() {
                self.shared.sold.forget(claim.id);
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
        self.shared.sold.forget(claim.id);
        let now = self.link.now();
        let stray = self.shared.desk.stray_until(claim.id, live.number, now);
        match (answer.split_first(), stray) {
            (Some((b'f', _)), _) => {
                self.shared.sold.rests.freed(&claim.name, now);
                Ok(Release::Freed)
            }
            (_, Some(until)) => Ok(Release::Unsettled { until }),
            (Some((b'o', theirs)), _) if theirs == EVICTED => Ok(Release::Evicted),
            (Some((b'o', theirs)), _) => self.refused(claim, number, theirs),
            (Some((b'n', _)), _) => Ok(Release::NotHeld),
            _ => Err(garbled(&String::from_utf8_lossy(&answer))),
        }
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

impl Plain {
    async fn extend_some(&self, grants: &[&Grant], ttl: Duration) -> Result<Vec<Result<Extension>>> {
        let keys: Vec<&str> = grants.iter().map(|g| &*g.claim.name).collect();
        // Where values are chosen nobody stores a claim id.
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
                    let later = |sale: &mut Sale| sale.until = sale.until.max(as_of + left);
                    self.shared.sold.change(grant.claim.id, later);
                }
                Ok(Extension::Extended { as_of, ttl: Some(left) })
            }
            Err(_) => Err(garbled(left)),
        };
        Ok(answer.split(' ').zip(grants).map(extension).collect())
    }
}

//! `SET name value NX PX`, compare-and-delete, compare-and-expire.

use super::connection::Link;
use super::faults::{Sent, explain, garbled};
use super::pace::Pauses;
pub(super) use super::polling::Sold;
use super::polling::{self, Once, Sale, Tried, grant, millis};
use super::state::text;
use super::{SCHEME, Shared, doctor, script};
use crate::backend::{Backend, Capabilities, Claim, Extension, Grant, Info, Leave, Release, Until};
use crate::{Clock, Error, ErrorKind, Result};
use async_trait::async_trait;
use redis::{Cmd, Value};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// One connection that speaks the plain protocol.
#[derive(Debug)]
pub(super) struct Plain {
    link: Arc<Link>,
    shared: Arc<Shared>,
    info: Info,
}

/// How often one who has waited for long asks, if the URL does not say.
const RETRY: Duration = Duration::from_millis(50);

impl Plain {
    pub(super) fn new(link: Arc<Link>, shared: Arc<Shared>, _: Arc<dyn Clock>) -> Self {
        let instance = format!("{} (plain: tokens order only cotter's own grants)", shared.options.instance);
        let mut info = Info::new(SCHEME, instance);
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
            (None, None) => self.sell(claim, value),
        };
        let left = left.parse::<i64>().map_err(|_| garbled(left))?;
        Ok(Look::Ours(grant(claim, block, as_of, Duration::from_millis(left.max(0) as u64))))
    }

    fn sell(&self, claim: &Claim, value: &str) -> (u64, u16) {
        let block = self.shared.sold.reserve(claim.turns, self.link.clock().wall());
        self.shared
            .sold
            .set(claim.id, Sale { name: claim.name.clone(), value: value.into(), block: Some(block) });
        block
    }

    /// Whose lock it is now, for one who released with another value.
    fn refused(&self, claim: &Claim, theirs: &str) -> Result<Release> {
        let Some(ours) = &self.shared.options.request_id else { return Ok(Release::NotHeld) };
        let why = format!("it is held under the request id {theirs:?}, not {ours:?}");
        Err(Error::new(ErrorKind::Denied, why).with_backend(SCHEME).with_name(&claim.name))
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
        self.shared.desk.asks(claim.id, live.number, self.link.stray_until(as_of));
        let answer = live.ask(&set).await.map_err(|e| explain(e, Sent::Yes).with_name(&claim.name));
        if !answer.as_ref().is_err_and(Error::outcome_unknown) {
            self.shared.desk.answered(claim.id, live.number);
        }
        match answer? {
            Value::Okay => Ok(Some(grant(claim, self.sell(claim, value), as_of, claim.ttl))),
            Value::Nil => Ok(None),
            other => Err(garbled(&format!("{other:?}"))),
        }
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
        let value = self.value(claim);
        match self.set(claim, &value).await? {
            Some(grant) => Ok(Tried::Granted(grant)),
            // Boxed, or one try that succeeds would carry the room for it.
            None => Box::pin(self.look_or_set(claim, &value)).await,
        }
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
        let live = self.link.live().await?;
        let value = self.value(claim);
        let rest = leave.keep_for.map(|d| millis(d).to_string()).unwrap_or_default();
        let args = [&*value, &*rest, "left behind"].map(str::as_bytes);
        let answer = script::PLAIN_RELEASE.run(&live, &[&claim.name], &args).await;
        let answer = text(answer.map_err(|e| explain(e, Sent::Yes).with_name(&claim.name))?)?;
        self.shared.sold.forget(claim.id);
        let strays = self.shared.desk.may_stray(claim.id, live.number, self.link.now());
        match answer.split_at_checked(1) {
            Some(("f", _)) => {
                self.shared.sold.rests.freed(&claim.name, self.link.now());
                Ok(Release::Freed)
            }
            _ if strays => Ok(Release::Unsettled),
            Some(("o", theirs)) => self.refused(claim, theirs),
            Some(("n", _)) => Ok(Release::NotHeld),
            _ => Err(garbled(&answer)),
        }
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        doctor::time(&self.link).await.map(|(now, _)| Some(now))
    }

    async fn close(&self) {
        self.link.close();
    }
}

impl Plain {
    async fn extend_some(&self, grants: &[&Grant], ttl: Duration) -> Result<Vec<Result<Extension>>> {
        let keys: Vec<&str> = grants.iter().map(|g| &*g.claim.name).collect();
        let values: Vec<String> = grants.iter().map(|g| self.value(&g.claim)).collect();
        let wanted = millis(ttl).to_string();
        let args: Vec<&[u8]> =
            std::iter::once(&wanted).chain(&values).map(|argument| argument.as_bytes()).collect();
        let live = self.link.live().await?;
        let as_of = self.link.now();
        let answer = script::PLAIN_EXTEND.run(&live, &keys, &args).await;
        let answer = text(answer.map_err(|e| explain(e, Sent::Yes))?)?;
        let extension = |left: &str| match left.parse() {
            _ if left == "-" => Ok(Extension::Lost),
            Ok(left) => Ok(Extension::Extended { as_of, ttl: Some(Duration::from_millis(left)) }),
            Err(_) => Err(garbled(left)),
        };
        Ok(answer.split(' ').map(extension).collect())
    }
}

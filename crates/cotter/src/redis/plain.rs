//! `SET name value NX PX`, compare-and-delete, compare-and-expire.

use super::connection::Link;
use super::faults::{Sent, explain, garbled};
pub(super) use super::polling::Sold;
use super::polling::{self, Once, Sale, grant, millis};
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

/// How often one who waits asks, if the URL does not say.
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
    async fn look(&self, claim: &Claim, value: &str) -> Result<Option<Grant>> {
        let live = self.link.live().await?;
        let as_of = self.link.now();
        let answer = script::PLAIN_LOOK.run(&live, &[&claim.name], &[value.as_bytes()]).await;
        let answer = text(answer.map_err(|e| explain(e, Sent::Yes).with_name(&claim.name))?)?;
        // A value that others may choose too does not prove that it is this claim's.
        let known = self.shared.sold.get(claim.id).and_then(|s| s.block);
        let Some(left) = answer.strip_prefix('o') else { return Ok(None) };
        let block = match (known, &self.shared.options.request_id) {
            (Some(block), _) => block,
            (None, Some(_)) => return Ok(None),
            (None, None) => self.sell(claim, value),
        };
        let left = left.parse::<i64>().map_err(|_| garbled(left))?;
        Ok(Some(grant(claim, block, as_of, Duration::from_millis(left.max(0) as u64))))
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

impl Once for Plain {
    async fn once(&self, claim: &Claim) -> Result<Option<Grant>> {
        let value = self.value(claim);
        let live = self.link.live().await?;
        let mut set = Cmd::with_capacity(6, claim.name.len() + value.len() + 32);
        set.arg("SET").arg(&*claim.name).arg(&value).arg("NX").arg("PX").arg(millis(claim.ttl));
        let as_of = self.link.now();
        self.shared.desk.asks(claim.id, live.number, self.link.stray_until(as_of));
        let answer = live.ask(&set).await.map_err(|e| explain(e, Sent::Yes).with_name(&claim.name));
        if !answer.as_ref().is_err_and(Error::outcome_unknown) {
            self.shared.desk.answered(claim.id, live.number);
        }
        match answer? {
            Value::Okay => Ok(Some(grant(claim, self.sell(claim, &value), as_of, claim.ttl))),
            Value::Nil => Box::pin(self.look(claim, &value)).await,
            other => Err(garbled(&format!("{other:?}"))),
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
        let live = self.link.live().await?;
        let value = self.value(claim);
        let rest = leave.keep_for.map(|d| millis(d).to_string()).unwrap_or_default();
        let args = [&*value, &*rest, "left behind"].map(str::as_bytes);
        let answer = script::PLAIN_RELEASE.run(&live, &[&claim.name], &args).await;
        let answer = text(answer.map_err(|e| explain(e, Sent::Yes).with_name(&claim.name))?)?;
        self.shared.sold.forget(claim.id);
        let strays = self.shared.desk.may_stray(claim.id, live.number, self.link.now());
        match answer.split_at_checked(1) {
            Some(("f", _)) => Ok(Release::Freed),
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
    async fn extend_one(&self, grant: &Grant, ttl: Duration) -> Result<Extension> {
        let name = &grant.claim.name;
        let (value, wanted) = (self.value(&grant.claim), millis(ttl).to_string());
        let live = self.link.live().await?;
        let as_of = self.link.now();
        let args = [value.as_bytes(), wanted.as_bytes()];
        let answer = script::PLAIN_EXTEND.run(&live, &[name], &args).await;
        let answer = text(answer.map_err(|e| explain(e, Sent::Yes).with_name(name))?)?;
        if answer.is_empty() {
            return Ok(Extension::Lost);
        }
        let left = answer.parse().map_err(|_| garbled(&answer))?;
        Ok(Extension::Extended { as_of, ttl: Some(Duration::from_millis(left)) })
    }
}

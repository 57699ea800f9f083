//! Looking and evicting in the two older protocols: what stands at one key says little, but it is there.

use super::getset::GetSet;
use super::plain::Plain;
use super::polling::Sold;
use crate::backend::{Admin, ClaimId, EvictOrder};
use crate::backend::{Filter, Finding, Holder, Page, Record};
use crate::redis::connection::Link;
use crate::redis::doctor;
use crate::redis::errors::garbled;
use crate::redis::{Mode, SCHEME, script};
use crate::{Error, ErrorKind, Eviction, Name, Result};
use async_trait::async_trait;
use redis::Value;
use std::time::Duration;

/// What is written over the value of a holder that is evicted: it is nobody's, and ends with the lease.
pub(in crate::redis) const EVICTED: &[u8] = b"cotter: evicted";

#[async_trait]
impl Admin for Plain {
    async fn list(&self, filter: &Filter, _: Option<&Name>) -> Result<Page> {
        let name = the_one(filter, "plain")?;
        let Some(value) = value_at(&self.link, name).await? else { return Ok(page(filter, name, None)) };
        let holder = (value != EVICTED).then(|| who(&value, &self.shared.sold));
        let mut holder = holder.unwrap_or_else(|| Holder::new("nobody: evicted", crate::Mode::Exclusive, 0));
        let left = self.link.ask(redis::cmd("PTTL").arg(&**name)).await?.0;
        holder.remaining = match left {
            Value::Int(ms @ 0..) => Some(Duration::from_millis(ms as u64)),
            // Gone in between.
            Value::Int(-2) => return Ok(page(filter, name, None)),
            _ => None,
        };
        Ok(page(filter, name, Some(holder)))
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let Some(value) = value_at(&self.link, name).await? else { return Ok(Eviction::NotHeld) };
        let token = who(&value, &self.shared.sold).token;
        refuse_token(order, "plain")?;
        let live = self.link.live().await?;
        let how: &[u8] = if order.now { b"now" } else { b"" };
        let answer = script::PLAIN_EVICT.run(&live, &[name], &[&value, EVICTED, how]).await;
        match &*crate::redis::state::text(
            answer.map_err(|e| crate::redis::errors::explain(e, crate::redis::errors::Sent::Yes))?,
        )? {
            "f" => Ok(Eviction::Evicted { token }),
            "n" => Ok(Eviction::NotHeld),
            "e" => {
                let why = "the lock has no expiry, so it would never pass on; evict it at once (--now)";
                Err(Error::new(ErrorKind::Unsupported, why).with_backend(SCHEME).with_name(name))
            }
            other => Err(garbled(other)),
        }
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        doctor::diagnose(&self.link, &self.shared.options).await
    }
}

#[async_trait]
impl Admin for GetSet {
    async fn list(&self, filter: &Filter, _: Option<&Name>) -> Result<Page> {
        let name = the_one(filter, "getset")?;
        let ends = self.ends(name).await?;
        let holder = ends.map(|(_, left)| {
            let mut holder = Holder::new("whoever wrote the expiry", crate::Mode::Exclusive, 0);
            holder.remaining = Some(left);
            holder
        });
        Ok(page(filter, name, holder))
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let Some((value, _)) = self.ends(name).await? else { return Ok(Eviction::NotHeld) };
        refuse_token(order, "getset")?;
        if !order.now {
            let why =
                "mode=getset has no room for the word that a holder is evicted; evict it at once (--now)";
            return Err(Error::new(ErrorKind::Unsupported, why).with_backend(SCHEME).with_name(name));
        }
        let live = self.link.live().await?;
        let answer = script::GETSET_RELEASE.run(&live, &[name], &[b"", &value]).await;
        let answer = crate::redis::state::text(
            answer.map_err(|e| crate::redis::errors::explain(e, crate::redis::errors::Sent::Yes))?,
        )?;
        Ok(if answer == "f" { Eviction::Evicted { token: 0.into() } } else { Eviction::NotHeld })
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        doctor::diagnose(&self.link, &self.shared.options).await
    }
}

/// Any key of the server may be a lock, so there is nothing to list.
fn the_one<'a>(filter: &'a Filter, mode: &str) -> Result<&'a Name> {
    filter.exact.as_ref().ok_or_else(|| {
        let why = format!(
            "listing locks is not something that mode={mode} can do: any key of the server may be one; show one by its name"
        );
        Error::new(ErrorKind::Unsupported, why).with_backend(SCHEME)
    })
}

fn refuse_token(order: EvictOrder, mode: &str) -> Result<()> {
    if order.token.is_none() {
        return Ok(());
    }
    let why = format!("in mode={mode} the server knows no tokens: leave the token out");
    Err(Error::new(ErrorKind::Unsupported, why).with_backend(SCHEME))
}

fn page(filter: &Filter, name: &Name, holder: Option<Holder>) -> Page {
    let mut record = Record::free(name.clone());
    record.holders.extend(holder);
    let wanted = filter.free_too || !record.holders.is_empty();
    Page { records: wanted.then_some(record).into_iter().collect(), more: false }
}

/// The value of the key; an error where it is no string.
pub(in crate::redis) async fn value_at(link: &Link, name: &Name) -> Result<Option<Vec<u8>>> {
    match link.ask(redis::cmd("GET").arg(&**name)).await.map_err(|e| e.with_name(name))?.0 {
        Value::BulkString(value) => Ok(Some(value)),
        Value::Nil => Ok(None),
        other => Err(garbled(&format!("{other:?}"))),
    }
}

/// The value is all there is; for a claim of this process its token too.
fn who(value: &[u8], sold: &Sold) -> Holder {
    let id = std::str::from_utf8(value).ok().and_then(ClaimId::parse);
    let number = id.and_then(|id| sold.get(id)?.block).map_or(0, |(number, _)| number);
    Holder::new(format!("value {}", value.escape_ascii()), crate::Mode::Exclusive, number)
}

/// For errors and the doctor.
pub(in crate::redis) fn variant(mode: Mode) -> &'static str {
    match mode {
        Mode::Native => SCHEME,
        Mode::Plain => "redis in mode=plain",
        Mode::GetSet => "redis in mode=getset",
    }
}

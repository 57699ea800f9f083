//! Looking and evicting.

use super::backend::Native;
use super::faults::garbled;
use super::state::Stored;
use super::{doctor, script};
use crate::backend::{Admin, EvictOrder, Mode};
use crate::record::{Filter, Finding, Holder, Page, Record};
use crate::{Eviction, Name, Result};
use async_trait::async_trait;
use redis::Value;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// Records in one page. Every page is one walk through all keys, so there should be few.
const PAGE: usize = 1000;
/// Keys that the server looks at in one step of the walk.
const STEP: usize = 1000;

#[async_trait]
impl Admin for Native {
    async fn list(&self, filter: &Filter, after: Option<&Name>) -> Result<Page> {
        let (now, _) = doctor::time(&self.link).await?;
        let now = crate::clock::unix_micros(now);
        let mut found = BTreeMap::new();
        match &filter.exact {
            Some(name) => self.look(vec![name.clone()], filter, now, &mut found).await?,
            None => self.walk(filter, after, now, &mut found).await?,
        }
        let more = found.len() > PAGE;
        let mut records = Vec::new();
        for (name, stored) in found.into_iter().take(PAGE) {
            records.push(self.record(name, &stored, now).await?);
        }
        Ok(Page { records, more })
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let token = order.token.map(|t| t.to_string()).unwrap_or_default();
        let now = if order.now { "now" } else { "" };
        let args = [&*token, now, &*self.retain].map(str::as_bytes);
        let evicted = self.step(&script::EVICT, &self.keys.of(name).all(), &args).await;
        let evicted = evicted.map_err(|e| e.with_name(name))?;
        if evicted.is_empty() {
            return Ok(Eviction::NotHeld);
        }
        let token: u64 = evicted.parse().map_err(|_| garbled(&evicted))?;
        Ok(Eviction::Evicted { token: token.into() })
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        doctor::diagnose(&self.link).await
    }
}

impl Native {
    /// Goes through all keys and keeps the first page of those that match.
    async fn walk(
        &self,
        filter: &Filter,
        after: Option<&Name>,
        now: u64,
        found: &mut BTreeMap<Name, Stored>,
    ) -> Result<()> {
        let mut cursor = b"0".to_vec();
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(&cursor).arg("MATCH").arg(self.keys.pattern(&filter.prefix)).arg("COUNT").arg(STEP);
            let (value, _) = self.link.ask(&scan).await?;
            let (next, keys) = scanned(value)?;
            let names = keys.iter().filter_map(|k| self.keys.name(k));
            let names = names.filter(|n| filter.admits(n) && after.is_none_or(|a| n > a));
            self.look(names.collect(), filter, now, found).await?;
            while found.len() > PAGE + 1 {
                found.pop_last();
            }
            cursor = next;
            if cursor == b"0" {
                return Ok(());
            }
        }
    }

    /// Reads these names and keeps those that are wanted.
    async fn look(
        &self,
        names: Vec<Name>,
        filter: &Filter,
        now: u64,
        found: &mut BTreeMap<Name, Stored>,
    ) -> Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        let mut get = redis::cmd("MGET");
        names.iter().for_each(|n| _ = get.arg(self.keys.lock(n)));
        let (value, _) = self.link.ask(&get).await?;
        let Value::Array(values) = value else { return Err(garbled("no list")) };
        for (name, value) in names.into_iter().zip(values) {
            let Value::BulkString(bytes) = value else { continue };
            let Some(stored) = Stored::parse(&bytes) else { continue };
            if stored.left(now).is_some() || filter.free_too {
                found.insert(name, stored);
            }
        }
        Ok(())
    }

    async fn record(&self, name: Name, stored: &Stored, now: u64) -> Result<Record> {
        let waiters = if stored.waited_for { self.waiters(&name).await? } else { 0 };
        let mut record = Record::free(name);
        record.waiters = Some(waiters);
        record.last_token = Some(stored.last().into());
        if let Some(left) = stored.left(now) {
            let mut holder = Holder::new(&*stored.label, Mode::Exclusive, stored.number);
            holder.since = Some(SystemTime::UNIX_EPOCH + Duration::from_micros(stored.since));
            holder.remaining = Some(left);
            record.holders.push(holder);
        }
        Ok(record)
    }

    async fn waiters(&self, name: &Name) -> Result<u32> {
        let count = redis::cmd("ZCARD").arg(self.keys.of(name).queue()).to_owned();
        match self.link.ask(&count).await?.0 {
            Value::Int(n) => Ok(u32::try_from(n).unwrap_or(u32::MAX)),
            other => Err(garbled(&format!("{other:?}"))),
        }
    }
}

/// The next cursor and the keys of one step.
fn scanned(value: Value) -> Result<(Vec<u8>, Vec<Vec<u8>>)> {
    let Value::Array(parts) = value else { return Err(garbled("no list")) };
    match <[Value; 2]>::try_from(parts) {
        Ok([Value::BulkString(cursor), Value::Array(keys)]) => {
            let bytes = |v| if let Value::BulkString(b) = v { Some(b) } else { None };
            Ok((cursor, keys.into_iter().filter_map(bytes).collect()))
        }
        _ => Err(garbled("no page of keys")),
    }
}

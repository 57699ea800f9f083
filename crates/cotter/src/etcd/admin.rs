//! Listing and evicting locks.

use super::backend::{Etcd, Inner};
use super::doctor;
use super::messages::{
    KeyValue, LeaseTimeToLiveRequest, LeaseTimeToLiveResponse, RangeRequest, RangeResponse, Target,
    TxnRequest, TxnResponse,
};
use super::requests::{TXN, delete, equal, put};
use crate::backend::{Admin, Cursor, EvictOrder, Filter, Finding, Holder, Mode, Page, Record};
use crate::{Eviction, Name, Result};
use async_trait::async_trait;
use std::collections::HashMap;
use std::time::Duration;

/// The number of entries that are read at once.
const PAGE: i64 = 1000;

#[async_trait]
impl Admin for Etcd {
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        let inner = &self.inner;
        let (mut entries, mut next) = match &filter.exact {
            Some(name) => (inner.line_of(name).await?, None),
            None => inner.walk(filter, from).await?,
        };
        if let Some(Listed { name, .. }) = entries.last().filter(|_| next.is_some()) {
            // There may be more of the last name: it is read in full, and the next page begins behind it.
            let (name, whole) = (name.clone(), inner.line_of(name).await?);
            next = Some(Cursor::new(String::from_utf8_lossy(&inner.keys.line(&name).end())));
            entries.retain(|entry| entry.name != name);
            entries.extend(whole);
        }
        entries.retain(|entry| filter.admits(&entry.name));
        let lasting = inner.lasting(&entries).await?;
        Ok(Page::new(records(entries, &lasting), next))
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let line = self.inner.line_of(name).await.map_err(|e| e.with_name(name))?;
        let Some(first) = line.first() else { return Ok(Eviction::NotHeld) };
        // A process that takes several turns has one token after the other.
        let is_meant =
            |token: u64| (first.token()..first.token() + u64::from(super::acquire::TURNS)).contains(&token);
        if order.token.is_some_and(|token| !is_meant(token.get())) {
            return Ok(Eviction::NotHeld);
        }
        let is_evicted = self.inner.evict(first, order.now).await.map_err(|e| e.with_name(name))?;
        Ok(if is_evicted { Eviction::Evicted { token: first.token().into() } } else { Eviction::NotHeld })
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        Ok(doctor::diagnose(&self.inner.link).await)
    }
}

/// An entry of a queue, with the name that it belongs to.
struct Listed {
    name: Name,
    kv: KeyValue,
}

impl Listed {
    fn token(&self) -> u64 {
        u64::try_from(self.kv.create_revision).unwrap_or_default() * u64::from(super::acquire::TURNS)
    }
}

impl Inner {
    /// The entries of a name, in order.
    async fn line_of(&self, name: &Name) -> Result<Vec<Listed>> {
        let line = self.keys.line(name);
        let question = RangeRequest { key: line.start(), range_end: line.end(), ..RangeRequest::default() };
        let found: RangeResponse = self.link.ask("/etcdserverpb.KV/Range", question).await?;
        let mut entries: Vec<_> = found.kvs.into_iter().map(|kv| Listed { name: name.clone(), kv }).collect();
        entries.sort_by_key(|entry| entry.kv.create_revision);
        Ok(entries)
    }

    /// The next entries in the order of their keys, and a cursor if there are more.
    async fn walk(&self, filter: &Filter, from: Option<&Cursor>) -> Result<(Vec<Listed>, Option<Cursor>)> {
        let (start, range_end) = self.keys.lines(&filter.prefix);
        let key = from.map_or(start, |from| from.as_str().as_bytes().to_vec());
        let question = RangeRequest { key, range_end, limit: PAGE, ..RangeRequest::default() };
        let found: RangeResponse = self.link.ask("/etcdserverpb.KV/Range", question).await?;
        let last = found.kvs.last().map(|kv| Cursor::new(format!("{}\0", String::from_utf8_lossy(&kv.key))));
        let listed = |kv: KeyValue| Some(Listed { name: self.keys.name(&kv)?, kv });
        Ok((found.kvs.into_iter().filter_map(listed).collect(), last.filter(|_| found.more)))
    }

    /// The time that is left of each lease.
    async fn lasting(&self, entries: &[Listed]) -> Result<HashMap<i64, Duration>> {
        let mut lasting = HashMap::new();
        for id in entries.iter().map(|entry| entry.kv.lease).filter(|id| *id != 0) {
            if let std::collections::hash_map::Entry::Vacant(vacant) = lasting.entry(id) {
                let question = LeaseTimeToLiveRequest { id };
                let left: LeaseTimeToLiveResponse =
                    self.link.ask("/etcdserverpb.Lease/LeaseTimeToLive", question).await?;
                vacant.insert(Duration::from_secs(u64::try_from(left.ttl).unwrap_or_default()));
            }
        }
        Ok(lasting)
    }

    /// Marks an entry as evicted, for as long as its lease lives; `now` also deletes it.
    async fn evict(&self, entry: &Listed, now: bool) -> Result<bool> {
        let KeyValue { key, create_revision, lease, .. } = &entry.kv;
        let mut success = Vec::new();
        if let Some(id) = self.keys.claim(key) {
            success.push(put(self.keys.evicted(id), entry.token().to_string().as_bytes(), *lease));
        }
        // Another client reads no marks.
        if now || success.is_empty() {
            success.push(delete(key.clone()));
        }
        let is_it = equal(key.clone(), Target::Created(*create_revision));
        let txn = TxnRequest { compare: vec![is_it], success, failure: Vec::new() };
        let answer: TxnResponse = self.link.ask(TXN, txn).await?;
        Ok(answer.succeeded)
    }
}

/// One record for each name; the entry that was created first holds.
fn records(mut entries: Vec<Listed>, lasting: &HashMap<i64, Duration>) -> Vec<Record> {
    entries.sort_by(|a, b| (&a.name, a.kv.create_revision).cmp(&(&b.name, b.kv.create_revision)));
    let mut records: Vec<Record> = Vec::new();
    for entry in entries {
        match records.last_mut().filter(|record| record.name == entry.name) {
            Some(record) => record.waiters = record.waiters.map(|waiters| waiters.saturating_add(1)),
            None => {
                let label = String::from_utf8_lossy(&entry.kv.value).into_owned();
                let mut holder = Holder::new(label, Mode::Exclusive, entry.token());
                holder.remaining = lasting.get(&entry.kv.lease).copied();
                let mut record = Record::free(entry.name);
                (record.holders, record.waiters) = (vec![holder], Some(0));
                records.push(record);
            }
        }
    }
    records
}

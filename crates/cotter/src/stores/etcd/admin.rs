//! Listing and evicting locks.

use super::acquire::TURNS;
use super::backend::{Etcd, Inner};
use super::doctor;
use super::messages::{
    KeyValue, LeaseTimeToLiveRequest, LeaseTimeToLiveResponse, RangeRequest, RangeResponse, Target,
    TxnRequest, TxnResponse,
};
use super::options::Dialect;
use super::requests::{TXN, delete, equal, put};
use crate::backend::{Admin, Cursor, EvictOrder, Filter, Finding, Holder, Mode, Page, Record};
use crate::{Eviction, Name, Result, stores::shared::queue};
use async_trait::async_trait;
use std::collections::HashMap;
use std::ops::Range;
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
        Ok(Page::new(inner.records(entries, &lasting).await?, next))
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let named = |e: crate::Error| e.with_name(name);
        let line = self.inner.line_of(name).await.map_err(named)?;
        let holding = self.inner.holding(&line).await.map_err(named)?.0;
        let mut evicted = Eviction::NotHeld;
        for holder in line.iter().take(holding) {
            let is_meant = order.token.is_none_or(|token| holder.tokens().contains(&token.get()));
            if is_meant && self.inner.evict(holder, order.now).await.map_err(named)? {
                evicted = Eviction::Evicted { token: holder.tokens().start.into() };
            }
        }
        Ok(evicted)
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        let mut findings = doctor::diagnose(&self.inner.link).await;
        if self.inner.keys.dialect() == Dialect::Concurrency {
            findings.push(doctor::beside_other_clients());
        }
        // A cluster without a leader answers no such question, and the rest of the report says why.
        match self.inner.without_lease().await {
            Ok(found) => findings.extend(found),
            Err(e) => findings.push(doctor::unchecked(&e)),
        }
        Ok(findings)
    }
}

/// An entry of a queue, with the name that it belongs to.
struct Listed {
    name: Name,
    kv: KeyValue,
}

impl Listed {
    /// A process that takes several turns has one token after the other.
    fn tokens(&self) -> Range<u64> {
        let first = u64::try_from(self.kv.create_revision).unwrap_or_default() * u64::from(TURNS);
        first..first + u64::from(TURNS)
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

    /// Entries that end with no lease, if there are any: cotter writes none. Those of other clients' names cannot be told from
    /// keys that have nothing to do with locks.
    async fn without_lease(&self) -> Result<Option<Finding>> {
        if self.keys.dialect() != Dialect::Own {
            return Ok(None);
        }
        let entries = self.walk(&Filter::held(), None).await?.0;
        let mut without = entries.iter().filter(|entry| entry.kv.lease == 0);
        Ok(without.next().map(|first| doctor::without_lease(&first.kv.key, without.count())))
    }

    /// Marks an entry as evicted, for as long as its lease lives; `now` also deletes it.
    async fn evict(&self, entry: &Listed, now: bool) -> Result<bool> {
        let KeyValue { key, create_revision, lease, .. } = &entry.kv;
        let mut success = Vec::new();
        // A mark says that the entry ends with its lease.
        if let Some(id) = self.keys.claim(key).filter(|_| *lease != 0) {
            success.push(put(self.keys.evicted(id), entry.tokens().start.to_string().as_bytes(), *lease));
        }
        // Another client reads no marks, and nobody holds with an entry that has no lease.
        if now || success.is_empty() {
            success.push(delete(key.clone()));
        }
        let is_it = equal(key.clone(), Target::Created(*create_revision));
        let txn = TxnRequest { compare: vec![is_it], success, failure: Vec::new() };
        let answer: TxnResponse = self.link.ask(TXN, txn).await?;
        Ok(answer.succeeded)
    }

    /// How many entries of a line hold, counted from its first one, and the number of permits that was set.
    async fn holding(&self, line: &[Listed]) -> Result<(usize, Option<u32>)> {
        let modes: Vec<_> = line.iter().map(|entry| self.keys.mode(&entry.kv.key)).collect();
        let set = match line.first() {
            Some(first) if modes[0].is_permits() => self.limit_of(&first.name).await?,
            _ => None,
        };
        Ok((queue::holders(&modes, set), set))
    }

    /// One record for each name.
    async fn records(
        &self,
        mut entries: Vec<Listed>,
        lasting: &HashMap<i64, Duration>,
    ) -> Result<Vec<Record>> {
        entries.sort_by(|a, b| (&a.name, a.kv.create_revision).cmp(&(&b.name, b.kv.create_revision)));
        let mut records: Vec<Record> = Vec::new();
        for line in entries.chunk_by(|a, b| a.name == b.name) {
            let (holding, set) = self.holding(line).await?;
            let mut record = Record::free(line[0].name.clone());
            record.waiters = Some(u32::try_from(line.len() - holding).unwrap_or(u32::MAX));
            record.holders = line[..holding].iter().map(|entry| self.holder(entry, set, lasting)).collect();
            records.push(record);
        }
        Ok(records)
    }

    fn holder(&self, entry: &Listed, set: Option<u32>, lasting: &HashMap<i64, Duration>) -> Holder {
        let label = match entry.kv.lease {
            0 => format!("a key without a lease: {}", String::from_utf8_lossy(&entry.kv.key)),
            _ => String::from_utf8_lossy(&entry.kv.value).into_owned(),
        };
        let mode = match self.keys.mode(&entry.kv.key) {
            Mode::Permits { take, of } => Mode::Permits { take, of: set.unwrap_or(of) },
            other => other,
        };
        let mut holder = Holder::new(label, mode, entry.tokens().start);
        holder.turns = TURNS;
        holder.remaining = lasting.get(&entry.kv.lease).copied();
        holder
    }
}

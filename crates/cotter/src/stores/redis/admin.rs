//! Listing and evicting locks in native mode.

use super::SCHEME;
use super::backend::Native;
use super::batch::all;
use super::errors::{is_about_slots, is_on_its_way, unexpected};
use super::foreign::explain_with_key;
use super::sentinel::role::Role;
use super::sharers::Sharers;
use super::state::Stored;
use super::{doctor, script};
use crate::backend::{Admin, Cursor, EvictOrder, Mode};
use crate::backend::{Filter, Finding, Holder, Page, Record};
use crate::{Error, ErrorKind, Eviction, Name, Result};
use async_trait::async_trait;
use redis::Value;
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

/// A page is full with this many names; the last step of the walk may bring some more.
const PAGE: usize = 1000;
/// The number of holders of one name that are listed.
const LISTED_HOLDERS: &str = "256";
/// The number of keys that the server examines in one step of the walk.
const SCAN_COUNT: usize = 1000;

#[async_trait]
impl Admin for Native {
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        let (now, caution) = tokio::join!(doctor::time(&self.link), self.caution(from));
        let (now, _) = now?;
        let now = crate::clock::unix_micros(now);
        let (names, next) = match &filter.exact {
            Some(name) => (vec![name.clone()], None),
            None => self.walk(filter, from).await?,
        };
        let found = match &filter.exact {
            Some(name) => self.state(name).await?.map(|stored| (name.clone(), stored)).into_iter().collect(),
            None => self.states(names).await?,
        };
        let wanted = |stored: &Stored| stored.left(now).is_some() || filter.free_too;
        let found = found.into_iter().filter(|(_, stored)| wanted(stored));
        // Concurrently, because the round trips would add up.
        let records = all(found.map(|(name, stored)| self.record(name, stored, now, filter))).await;
        let mut records = records.into_iter().collect::<Result<Vec<Record>>>()?;
        // The leases of those who shared a name may have ended one by one.
        records.retain(|r| !r.holders.is_empty() || r.problem.is_some() || filter.free_too);
        let mut page = Page::new(records, next);
        page.caution = caution;
        Ok(page)
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let token = order.token.map(|t| t.to_string()).unwrap_or_default();
        let now = if order.now { "now" } else { "" };
        let args = [&*token, now, &*self.retain].map(str::as_bytes);
        let evicted = self.run_to_the_end(&script::EVICT, name, &args).await?;
        if evicted.is_empty() {
            return Ok(Eviction::NotHeld);
        }
        let token: u64 = evicted.parse().map_err(|_| unexpected(&evicted))?;
        Ok(Eviction::Evicted { token: token.into() })
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        doctor::diagnose(&self.link, &self.shared.options).await
    }
}

impl Native {
    /// Why locks that are read from this server may be out of date, as far as the server says. Asked with the first page.
    async fn caution(&self, from: Option<&Cursor>) -> Option<String> {
        if from.is_some() || doctor::is_through_proxy(&self.link).await.ok()? {
            return None;
        }
        let (answer, _) = self.link.query(&redis::cmd("ROLE")).await.ok()?;
        let lag = match Role::parse(answer)? {
            Role::Replica { is_connected: true } => "locks may have changed since",
            Role::Replica { is_connected: false } => {
                "it has no connection to its master, and locks may have changed long ago"
            }
            _ => return None,
        };
        Some(format!("this server is a replica: {lag}; ask its master"))
    }

    /// Walks through the keys from the cursor on until there are names for a page, and returns where the next page begins.
    async fn walk(&self, filter: &Filter, from: Option<&Cursor>) -> Result<(Vec<Name>, Option<Cursor>)> {
        if doctor::is_through_proxy(&self.link).await? {
            let why = "a proxy in between forwards no SCAN, which listing takes; show a lock by its name, or ask the server itself";
            return Err(Error::new(ErrorKind::Unsupported, why).with_backend(SCHEME));
        }
        let mut cursor = from.map_or("0", Cursor::as_str).to_owned();
        // The server may return a key more than once.
        let mut names: BTreeSet<Name> = BTreeSet::new();
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(&cursor)
                .arg("MATCH")
                .arg(self.keys.pattern(&filter.prefix))
                .arg("COUNT")
                .arg(SCAN_COUNT);
            let (value, _) = self.link.query(&scan).await?;
            let (next, keys) = scanned(value)?;
            names.extend(keys.iter().filter_map(|k| self.keys.name(k)).filter(|n: &Name| filter.admits(n)));
            cursor = next;
            let is_last = cursor == "0";
            if is_last || names.len() >= PAGE {
                return Ok((names.into_iter().collect(), (!is_last).then(|| Cursor::new(cursor))));
            }
        }
    }

    /// Reads the state of one name. What cotter did not write is an error, as for whoever wants to lock it.
    async fn state(&self, name: &Name) -> Result<Option<Stored>> {
        let get = redis::cmd("GET").arg(self.keys.lock(name)).to_owned();
        match self.link.query(&get).await.map_err(|e| e.with_name(name))?.0 {
            Value::BulkString(bytes) => match Stored::parse(&bytes) {
                None => Err(foreign(name)),
                stored => Ok(stored),
            },
            _ => Ok(None),
        }
    }

    /// Reads the states of names, and leaves out what cotter did not write.
    async fn states(&self, names: Vec<Name>) -> Result<Vec<(Name, Stored)>> {
        let values = match self.values(&names).await {
            Err(e) if is_about_slots(&e) => {
                let one_by_one = all(names.chunks(1).map(|name| self.value_here(name))).await;
                one_by_one.into_iter().collect::<Result<Vec<_>>>()?.concat()
            }
            values => values?,
        };
        let stored = |value| match value {
            Value::BulkString(bytes) => Stored::parse(&bytes),
            _ => None,
        };
        Ok(names.into_iter().zip(values).filter_map(|(name, v)| Some((name, stored(v)?))).collect())
    }

    /// A name whose slot moves is listed where it is, unless it comes and goes behind the walk.
    async fn value_here(&self, name: &[Name]) -> Result<Vec<Value>> {
        match self.values(name).await {
            Err(e) if is_on_its_way(&e) => Ok(vec![Value::Nil]),
            values => values,
        }
    }

    async fn values(&self, names: &[Name]) -> Result<Vec<Value>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let mut get = redis::cmd("MGET");
        names.iter().for_each(|n| _ = get.arg(self.keys.lock(n)));
        match self.link.query(&get).await?.0 {
            Value::Array(values) => Ok(values),
            _ => Err(unexpected("no list")),
        }
    }

    async fn record(&self, name: Name, stored: Stored, now: u64, filter: &Filter) -> Result<Record> {
        let mut record = Record::free(name);
        record.last_token = Some(stored.last().into());
        if let Some(left) = stored.left(now).filter(|_| !stored.shared) {
            let mut holder = Holder::new(&*stored.label, Mode::Exclusive, stored.number);
            holder.turns = stored.turns;
            holder.since = Some(SystemTime::UNIX_EPOCH + Duration::from_micros(stored.since));
            holder.remaining = Some(left);
            record.holders.push(holder);
        }
        match self.complete(&mut record, &stored).await {
            // In a list of many names, one of them must not hide the others.
            Err(e) if e.kind() == ErrorKind::ForeignKey && filter.exact.is_none() => {
                record.problem = Some(e.to_string());
            }
            Err(e) if is_on_its_way(&e) && filter.exact.is_none() => {
                record.problem = Some("its slot is moving to another node of the cluster".to_owned());
            }
            done => done.map_err(|e| e.with_name(&record.name))?,
        }
        Ok(record)
    }

    /// Reads what is not in the state itself.
    async fn complete(&self, record: &mut Record, stored: &Stored) -> Result<()> {
        if stored.shared {
            self.list_holders(record).await?;
        }
        record.waiters = Some(if stored.waited_for { self.waiters(&record.name).await? } else { 0 });
        Ok(())
    }

    /// Lists those who share a name, up to a limit, the longest-standing of them first.
    async fn list_holders(&self, record: &mut Record) -> Result<()> {
        let (live, keys) = (self.link.live().await?, self.keys.of(&record.name));
        let answer = script::HOLDERS.run(&live, &keys.all(), &[LISTED_HOLDERS.as_bytes()]).await;
        let listed = match answer {
            Ok(answer) => Sharers::parse(answer)?,
            Err(e) => return Err(explain_with_key(&live, keys.lock(), e).await.with_name(&record.name)),
        };
        record.unlisted = listed.count.saturating_sub(listed.holders.len() as u64);
        record.holders = listed.holders;
        record.holders.sort_by_key(|h| h.token);
        Ok(())
    }

    async fn waiters(&self, name: &Name) -> Result<u32> {
        let (live, keys) = (self.link.live().await?, self.keys.of(name));
        match live.query(redis::cmd("ZCARD").arg(keys.queue())).await {
            Ok(Value::Int(n)) => Ok(u32::try_from(n).unwrap_or(u32::MAX)),
            Ok(other) => Err(unexpected(&format!("{other:?}"))),
            Err(e) => Err(explain_with_key(&live, keys.lock(), e).await),
        }
    }
}

fn foreign(name: &Name) -> Error {
    let why = "the value of the key was not written by this version of cotter";
    Error::new(ErrorKind::ForeignKey, why).with_backend(SCHEME).with_name(name)
}

/// The next cursor, and the keys of one step.
fn scanned(value: Value) -> Result<(String, Vec<Vec<u8>>)> {
    let Value::Array(parts) = value else { return Err(unexpected("no list")) };
    match <[Value; 2]>::try_from(parts) {
        Ok([Value::BulkString(cursor), Value::Array(keys)]) => {
            let bytes = |v| if let Value::BulkString(b) = v { Some(b) } else { None };
            let cursor =
                String::from_utf8(cursor).map_err(|_| unexpected("a cursor that is not a number"))?;
            Ok((cursor, keys.into_iter().filter_map(bytes).collect()))
        }
        _ => Err(unexpected("no page of keys")),
    }
}

//! Listing and evicting locks.

use super::acquire::TURNS;
use super::backend::{Inner, ZooKeeper};
use super::doctor;
use super::errors::{BAD_VERSION, Failure, NO_NODE};
use super::layout::Entry;
use super::live::Live;
use super::messages::Op;
use super::names::{Marks, label};
use super::permits::Line;
use super::replies::{Children, Data, Outcome};
use crate::backend::{Admin, Cursor, EvictOrder, Filter, Finding, Holder, Mode, Page, Record};
use crate::{Error, ErrorKind, Eviction, Name, Result, stores::shared::queue};
use async_trait::async_trait;
use std::ops::Range;
use std::time::{Duration, SystemTime};

/// The number of names that are read at once.
const PAGE: usize = 500;
/// How often a node is marked whose data others have changed.
const TRIES: usize = 10;

#[async_trait]
impl Admin for ZooKeeper {
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        let inner = &self.inner;
        let live = inner.link.live().await?;
        let (names, next) = match &filter.exact {
            Some(name) => (vec![name.clone()], None),
            None => inner.names(filter, from, &live).await?,
        };
        let lines: Vec<_> =
            names.iter().map(|name| live.ask::<Children>(&Op::children(&inner.keys.line(name)))).collect();
        let mut records = Vec::new();
        for (name, line) in names.iter().zip(lines) {
            let record = match inner.record(name, line.await, &live).await {
                // In a list of many names, that of another user must not hide the others.
                Err(e) if e.kind() == ErrorKind::Denied && filter.exact.is_none() => {
                    Some(Record { problem: Some(e.to_string()), ..Record::free(name.clone()) })
                }
                record => record.map_err(|e| e.with_name(name))?,
            };
            records.extend(record.filter(|record| filter.admits(&record.name)));
        }
        Ok(Page::new(records, next))
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        self.inner.evict(name, order).await.map_err(|e| e.with_name(name))
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        doctor::diagnose(&self.inner.link).await
    }
}

/// A place in a queue that holds, as it is in the store.
struct Seated {
    path: String,
    mode: Mode,
    data: Data,
}

impl Seated {
    /// A process that takes several turns has one token after the other.
    fn tokens(&self) -> Range<u64> {
        let first = u64::try_from(self.data.stat.created).unwrap_or_default() * u64::from(TURNS);
        first..first + u64::from(TURNS)
    }
}

impl Inner {
    /// The next names, and a cursor if there are more.
    async fn names(
        &self,
        filter: &Filter,
        from: Option<&Cursor>,
        live: &Live,
    ) -> Result<(Vec<Name>, Option<Cursor>)> {
        let folders = match live.ask::<Children>(&Op::children(&self.keys.lines())).await {
            Err(failure) if failure.is(NO_NODE) => return Ok((Vec::new(), None)),
            folders => folders?,
        };
        let is_next = |name: &Name| from.is_none_or(|from| name.as_str() > from.as_str());
        let mut names: Vec<_> = folders.iter().filter_map(|folder| self.keys.name(folder)).collect();
        names.retain(|name| filter.admits(name) && is_next(name));
        names.sort_unstable();
        let has_more = names.len() > PAGE;
        names.truncate(PAGE);
        let next = names.last().filter(|_| has_more).map(|last| Cursor::new(last.as_str()));
        Ok((names, next))
    }

    /// `None` for a name that nobody uses.
    async fn record(
        &self,
        name: &Name,
        nodes: std::result::Result<Children, Failure>,
        live: &Live,
    ) -> Result<Option<Record>> {
        let nodes = match nodes {
            Err(failure) if failure.is(NO_NODE) => return Ok(None),
            nodes => nodes?,
        };
        let Line { entries: line, limit: set } = self.limited(nodes, &self.keys.line(name), live).await?;
        // In the layouts of others, any node may have children that count.
        if !line.iter().any(Entry::is_place) {
            return Ok(None);
        }
        let holding = holders(&line, set);
        let mut record = Record::free(name.clone());
        record.waiters = Some(u32::try_from(line.len() - holding).unwrap_or(u32::MAX));
        let seated = self.seated(name, &line[..holding], live).await?;
        record.holders = seated.iter().map(|seated| holder(seated, set)).collect();
        Ok(Some(record))
    }

    /// Reads the places that are still there.
    async fn seated(&self, name: &Name, entries: &[Entry], live: &Live) -> Result<Vec<Seated>> {
        let line = self.keys.line(name);
        let read = |entry: &Entry| {
            let path = format!("{line}/{}", entry.node);
            (live.ask::<Data>(&Op::get(&path)), path, entry.mode)
        };
        let asked: Vec<_> = entries.iter().map(read).collect();
        let mut seated = Vec::new();
        for (data, path, mode) in asked {
            match data.await {
                Err(failure) if failure.is(NO_NODE) => {}
                data => seated.push(Seated { path, mode, data: data? }),
            }
        }
        Ok(seated)
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let live = self.link.live().await?;
        let nodes = match live.ask::<Children>(&Op::children(&self.keys.line(name))).await {
            Err(failure) if failure.is(NO_NODE) => return Ok(Eviction::NotHeld),
            nodes => nodes?,
        };
        let Line { entries: line, limit } = self.limited(nodes, &self.keys.line(name), &live).await?;
        let holding = holders(&line, limit);
        let mut evicted = Eviction::NotHeld;
        if holding == 0 {
            return Ok(Eviction::NotHeld);
        }
        self.link.let_holders_look().await;
        for seated in self.seated(name, &line[..holding], &live).await? {
            let is_meant = order.token.is_none_or(|token| seated.tokens().contains(&token.get()));
            let token = seated.tokens().start;
            if is_meant && self.mark_evicted(seated, order.now, &live).await? {
                evicted = Eviction::Evicted { token: token.into() };
            }
        }
        Ok(evicted)
    }

    /// Marks a place as evicted; `now` also deletes it, in one transaction, so that its holder learns why.
    async fn mark_evicted(&self, seated: Seated, now: bool, live: &Live) -> Result<bool> {
        let Seated { path, mut data, .. } = seated;
        for _ in 0..TRIES {
            let marks = Marks { is_evicted: true, ..Marks::of(&data.bytes) };
            let (marked, version) = (marks.on(&data.bytes), data.stat.version);
            let mut ops = vec![Op::Set { path: path.clone(), data: marked, version }];
            // Another client reads no marks.
            ops.extend((now || !self.keys.is_ours(&data.bytes)).then(|| Op::delete(&path)));
            let code = match live.ask::<Outcome>(&Op::Multi(ops)).await {
                Ok(Outcome::Done(_)) => return Ok(true),
                Ok(Outcome::Failed(_, code)) | Err(Failure::Code(code)) => code,
                Err(failure) => return Err(failure.into()),
            };
            match code {
                NO_NODE => return Ok(false),
                BAD_VERSION => {}
                code => return Err(self.refused(code)),
            }
            data = match live.ask::<Data>(&Op::get(&path)).await {
                Err(failure) if failure.is(NO_NODE) => return Ok(false),
                data => data?,
            };
        }
        Err(Error::new(ErrorKind::Unavailable, "the holder kept changing during the request; try again"))
    }
}

/// How many places of a line hold, counted from its first one.
fn holders(line: &[Entry], limit: Option<u32>) -> usize {
    let modes: Vec<_> = line.iter().map(|entry| entry.mode).collect();
    queue::holders(&modes, limit)
}

fn holder(seated: &Seated, set: Option<u32>) -> Holder {
    let mode = match seated.mode {
        Mode::Permits { take, of } => Mode::Permits { take, of: set.unwrap_or(of) },
        other => other,
    };
    let mut holder = Holder::new(label(&seated.data.bytes), mode, seated.tokens().start);
    holder.turns = TURNS;
    let since = u64::try_from(seated.data.stat.created_at).ok().map(Duration::from_millis);
    holder.since = since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
    holder
}

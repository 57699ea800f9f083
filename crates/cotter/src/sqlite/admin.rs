//! Listing and evicting locks.

use super::backend::Sqlite;
use super::doctor;
use super::rows::{self, Times};
use super::state::Lock;
use crate::backend::{Admin, Cursor, EvictOrder};
use crate::backend::{Filter, Finding, Holder, Page, Record};
use crate::lock_state::Now;
use crate::{Eviction, FencingToken, Name, Result};
use async_trait::async_trait;
use rusqlite::Connection;

/// The number of rows that are read for a page.
const PAGE: usize = 200;

#[async_trait]
impl Admin for Sqlite {
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        let (times, filter) = (self.times.clone(), filter.clone());
        let from = from.map(|from| from.as_str().to_owned()).unwrap_or_default();
        self.connection.run(move |connection| page(connection, &times, &filter, &from)).await
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let token = order.token.map(FencingToken::get);
        let (evicted, _) = self.change(name, move |lock, now| Ok(lock.evict(token, order.now, now))).await?;
        Ok(evicted.map_or(Eviction::NotHeld, |token| Eviction::Evicted { token: token.into() }))
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        let path = self.path.clone();
        self.connection.run(move |connection| doctor::diagnose(connection, &path)).await
    }
}

fn page(connection: &Connection, times: &Times, filter: &Filter, from: &str) -> Result<Page> {
    let names = match &filter.exact {
        Some(name) => vec![name.to_string()],
        None => rows::names(connection, from, PAGE)?,
    };
    let next = (names.len() == PAGE).then(|| names.last().map(Cursor::new)).flatten();
    let mut page = Page::new(Vec::new(), next);
    for name in names.iter().filter(|name| filter.admits(name)).filter_map(|name| Name::new(name).ok()) {
        let record = rows::look(connection, times, &name, |lock, now| record(&name, lock, times, now))?;
        // Of a name without a row nothing is remembered.
        let is_known = record.last_token.is_some_and(|token| token.get() > 0);
        if !record.holders.is_empty() || (filter.free_too && is_known) {
            page.records.push(record);
        }
    }
    Ok(page)
}

fn record(name: &Name, lock: &Lock, times: &Times, now: Now) -> Record {
    let mut record = Record::free(name.clone());
    let wall = times.clock.wall();
    record.holders = lock
        .holders
        .iter()
        .map(|held| {
            let mut holder = Holder::new(&*held.claim.label, held.claim.mode, held.number);
            holder.since = wall.checked_sub(now.at.since(held.since));
            holder.remaining = Some(held.ends.since(now.at));
            holder
        })
        .collect();
    record.waiters = Some(lock.waiting() as u32);
    record.last_token = Some(lock.last_token().into());
    record
}

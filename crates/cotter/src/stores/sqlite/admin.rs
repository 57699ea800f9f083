//! Listing and evicting locks.

use super::backend::Sqlite;
use super::doctor;
use super::rows::{self, Times};
use crate::backend::{Admin, Cursor, EvictOrder};
use crate::backend::{Filter, Finding, Page};
use crate::stores::shared::sql::record;
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
        let (path, boot) = (self.path.clone(), self.times.boot_id());
        self.connection.run(move |connection| doctor::diagnose(connection, &path, &boot)).await
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
        let wall = times.clock.wall();
        let record =
            rows::look(connection, times, &name, |lock, now| record(&name, lock, filter, wall, now))?;
        page.records.extend(record);
    }
    Ok(page)
}

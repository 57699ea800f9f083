//! Listing and evicting locks.

use super::SCHEME;
use super::backend::Lease;
use super::rows::{self, text, value};
use super::schema::Tables;
use super::session::Session;
use super::state::{self, Lock};
use crate::backend::{Admin, Cursor, EvictOrder, Filter, Finding, Page};
use crate::stores::shared::sql::{Boot, Row, record};
use crate::{Eviction, FencingToken, Name, Result};
use async_trait::async_trait;

/// The number of names on a page.
const PAGE: usize = 200;

#[async_trait]
impl Admin for Lease {
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        let from = from.map_or("", Cursor::as_str);
        self.attempt(&self.link, |live| {
            let (filter, from) = (filter.clone(), from.to_owned());
            let servers = self.shared.servers.clone();
            async move {
                live.ask(move |session| {
                    Box::pin(async move {
                        match filter.exact.clone() {
                            Some(name) => one(session, &servers.tables, &name, &filter).await,
                            None => page(session, &servers.tables, &filter, &from).await,
                        }
                    })
                })
                .await
            }
        })
        .await
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let token = order.token.map(FencingToken::get);
        let evict = move |lock: &mut Lock, now| Ok(lock.evict(token, order.now, now));
        let evicted = self.change(name, evict).await?.done;
        Ok(evicted.map_or(Eviction::NotHeld, |token| Eviction::Evicted { token: token.into() }))
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        self.findings().await
    }
}

async fn one(session: &mut Session, tables: &Tables, name: &Name, filter: &Filter) -> Result<Page> {
    let (row, now) = rows::read(session, tables, name).await?;
    let lock: Lock = row.lock(name, Boot::OF_NO_MACHINE, now).map_err(|e| e.with_backend(SCHEME))?;
    let record = record(name, &lock, filter, state::wall(now), now);
    Ok(Page::new(record.into_iter().collect(), None))
}

async fn page(session: &mut Session, tables: &Tables, filter: &Filter, from: &str) -> Result<Page> {
    let prefix = &*filter.prefix;
    let values = (from, prefix, prefix, prefix, filter.free_too, PAGE);
    let found = session.read(&tables.list, values).await?;
    let mut page = Page::new(Vec::new(), None);
    for row in &found {
        let (name, now) = (text(row, 1)?, state::now(value(row, 0)?));
        if found.len() == PAGE {
            page.next = Some(Cursor::new(&name));
        }
        let Ok(name) = Name::new(name) else { continue };
        let row = Row { floor: 0, found: Some((value(row, 2)?, text(row, 3)?)) };
        let lock: Lock = row.lock(&name, Boot::OF_NO_MACHINE, now).map_err(|e| e.with_backend(SCHEME))?;
        if filter.admits(&name) {
            page.records.extend(record(&name, &lock, filter, state::wall(now), now));
        }
    }
    Ok(page)
}

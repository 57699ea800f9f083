//! Listing and evicting locks, those of other programs too.

use super::backend::ShedLock;
use super::statements::Statements;
use super::steps::{self, duration};
use crate::backend::{Admin, Cursor, EvictOrder, Filter, Finding, Page, Record};
use crate::stores::mysql::rows::{text, value};
use crate::stores::mysql::session::Session;
use crate::stores::shared::sql::shedlock;
use crate::{Eviction, Name, Result};
use async_trait::async_trait;
use mysql_async::Row;
use std::time::SystemTime;

/// The number of names on a page.
const PAGE: usize = 500;

#[async_trait]
impl Admin for ShedLock {
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        let (filter, from) = (filter.clone(), from.map_or(String::new(), |from| from.as_str().to_owned()));
        self.request(|live, statements| {
            let (filter, from) = (filter.clone(), from.clone());
            async move {
                live.ask(move |session| {
                    Box::pin(async move {
                        match &filter.exact {
                            Some(name) => one(session, &statements, name, filter.free_too).await,
                            None => page(session, &statements, &filter, &from).await,
                        }
                    })
                })
                .await
            }
        })
        .await
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let Some(locked_by) = self.look(name).await? else { return Ok(Eviction::NotHeld) };
        let (_, number) = shedlock::parse(&locked_by);
        if order.token.is_some_and(|token| token.get() != number) {
            return Ok(Eviction::NotHeld);
        }
        if shedlock::is_evicted(&locked_by) && !order.now {
            return Ok(Eviction::Evicted { token: number.into() });
        }
        let owned = name.clone();
        let evicted = self.request(|live, statements| {
            let (name, locked_by) = (owned.clone(), locked_by.clone());
            async move {
                live.run(move |session| {
                    Box::pin(async move {
                        let values = vec![order.now.into(), name.as_str().into(), locked_by.into()];
                        let evicted = steps::write(session, &statements.evict, &name, values).await?;
                        Ok(session.unless_demoted(evicted).await?.rows > 0)
                    })
                })
                .await
            }
        });
        let evicted = evicted.await.map_err(|e| e.with_name(name))?;
        Ok(if evicted { Eviction::Evicted { token: number.into() } } else { Eviction::NotHeld })
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        self.findings().await
    }
}

/// A name that is equal by the collation of the table is the same lock, so the record has the name that was asked for.
async fn one(session: &mut Session, statements: &Statements, name: &Name, free_too: bool) -> Result<Page> {
    let rows = session.read(&statements.named, (name.as_str(),)).await?;
    let record = rows.first().map(|row| record(row, name.clone())).transpose()?;
    let wanted = record.filter(|record| free_too || !record.holders.is_empty());
    Ok(Page::new(wanted.into_iter().collect(), None))
}

async fn page(session: &mut Session, statements: &Statements, filter: &Filter, from: &str) -> Result<Page> {
    let prefix = &*filter.prefix;
    let found = session.read(&statements.list, (from, prefix, prefix, filter.free_too, PAGE)).await?;
    let mut page = Page::new(Vec::new(), None);
    for row in &found {
        let name = text(row, 0)?;
        if found.len() == PAGE {
            page.next = Some(Cursor::new(&name));
        }
        let Ok(name) = Name::new(name) else { continue };
        if filter.admits(&name) {
            page.records.push(record(row, name)?);
        }
    }
    Ok(page)
}

fn record(row: &Row, name: Name) -> Result<Record> {
    let (locked_by, is_held) = (text(row, 1)?, value::<bool>(row, 2)?);
    let since = SystemTime::UNIX_EPOCH + duration(value(row, 3)?);
    let held = (&*locked_by, since, duration(value(row, 4)?));
    Ok(shedlock::record(name, is_held.then_some(held)))
}

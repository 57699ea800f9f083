//! Listing and evicting locks, those of other programs too.

use super::backend::ShedLock;
use crate::backend::{Admin, Cursor, EvictOrder, Filter, Finding, Page, Record};
use crate::stores::postgres::admin::{page, time};
use crate::stores::postgres::backend::{duration, value};
use crate::stores::postgres::doctor;
use crate::stores::postgres::live::Bound;
use crate::stores::shared::sql::shedlock;
use crate::{Eviction, Name, Result};
use async_trait::async_trait;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

#[async_trait]
impl Admin for ShedLock {
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        let live = self.link.live().await?;
        let (rows, next) = page(&live, &self.statements.list, None, filter, from).await?;
        let mut records = rows.iter().map(record).collect::<Result<Vec<_>>>()?;
        records.retain(|record| filter.admits(&record.name));
        Ok(Page::new(records, next))
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
        let bound: [Bound<'_>; 3] =
            [(&&**name, Type::TEXT), (&locked_by, Type::TEXT), (&order.now, Type::BOOL)];
        let live = self.link.live().await?;
        let read = |rows: Vec<Row>| Ok(!rows.is_empty());
        let evicted = live.write(&self.statements.evict, &bound, read, |evicted| *evicted).await;
        let evicted = evicted.map_err(|e| e.with_name(name))?;
        Ok(if evicted { Eviction::Evicted { token: number.into() } } else { Eviction::NotHeld })
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        doctor::of_server(&self.link).await
    }
}

fn record(row: &Row) -> Result<Record> {
    let name = Name::new(value::<String>(row, 0)?)?;
    let (locked_by, since, left): (String, _, _) = (value(row, 1)?, time(value(row, 3)?), value(row, 4)?);
    let held = (&*locked_by, since, duration(left));
    Ok(shedlock::record(name, value::<bool>(row, 2)?.then_some(held)))
}

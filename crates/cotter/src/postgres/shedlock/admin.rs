//! Listing and evicting locks, those of other programs too.

use super::backend::ShedLock;
use super::holder;
use crate::backend::{Admin, Cursor, EvictOrder, Filter, Finding, Holder, Mode, Page, Record};
use crate::postgres::admin::{PAGE, time};
use crate::postgres::backend::{duration, value};
use crate::postgres::doctor;
use crate::postgres::live::Bound;
use crate::{Eviction, Name, Result};
use async_trait::async_trait;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

#[async_trait]
impl Admin for ShedLock {
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        let (from, page) = (from.map_or("", Cursor::as_str), PAGE as i64);
        // No name stands between one and itself with a character behind it.
        let (after, prefix) = match &filter.exact {
            Some(name) => ("", &**name),
            None => (from, &*filter.prefix),
        };
        let bound: [Bound<'_>; 4] = [
            (&after, Type::TEXT),
            (&prefix, Type::TEXT),
            (&filter.free_too, Type::BOOL),
            (&page, Type::INT8),
        ];
        let rows = self.link.live().await?.rows(&self.statements.list, &bound).await?;
        let next = (rows.len() == PAGE && filter.exact.is_none()).then(|| rows.last()).flatten();
        let next = next.map(|row| value::<String>(row, 0).map(Cursor::new)).transpose()?;
        let mut records = rows.iter().map(record).collect::<Result<Vec<_>>>()?;
        records.retain(|record| filter.admits(&record.name));
        Ok(Page::new(records, next))
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let Some(locked_by) = self.look(name).await? else { return Ok(Eviction::NotHeld) };
        let (_, number) = holder::parse(&locked_by);
        if order.token.is_some_and(|token| token.get() != number) {
            return Ok(Eviction::NotHeld);
        }
        let bound: [Bound<'_>; 3] =
            [(&&**name, Type::TEXT), (&locked_by, Type::TEXT), (&order.now, Type::BOOL)];
        let rows = self.link.live().await?.rows(&self.statements.evict, &bound).await;
        let evicted = !rows.map_err(|e| e.with_name(name))?.is_empty();
        Ok(if evicted { Eviction::Evicted { token: number.into() } } else { Eviction::NotHeld })
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        doctor::of_server(&self.link).await
    }
}

fn record(row: &Row) -> Result<Record> {
    let mut record = Record::free(Name::new(value::<String>(row, 0)?)?);
    if value(row, 2)? {
        let locked_by: String = value(row, 1)?;
        let (label, number) = holder::parse(&locked_by);
        let mut holder = Holder::new(label, Mode::Exclusive, number);
        holder.since = Some(time(value(row, 3)?));
        holder.remaining = Some(duration(value(row, 4)?));
        record.holders.push(holder);
    }
    Ok(record)
}

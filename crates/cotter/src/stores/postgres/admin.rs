//! Listing and evicting locks.

use super::backend::{Lease, duration, token, value};
use super::errors::unexpected;
use super::live::{Bound, Live};
use crate::backend::{Admin, Cursor, EvictOrder, Filter, Finding, Holder, Mode, Page, Record};
use crate::{Eviction, Name, Result};
use async_trait::async_trait;
use std::collections::HashMap;
use std::time::{Duration, SystemTime};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

/// The number of names on a page.
const PAGE: i64 = 500;
/// The number of holders of one name that are listed.
const LISTED_HOLDERS: usize = 256;

#[async_trait]
impl Admin for Lease {
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        let statement = &self.shared.statements.list;
        let (rows, next) = page(&*self.link.live().await?, statement, None, filter, from).await?;
        let mut records = Vec::new();
        let mut crowds = Vec::new();
        for row in &rows {
            let record = record(row)?;
            if filter.admits(&record.name) {
                if value(row, 5)? {
                    crowds.push(record.name.to_string());
                }
                records.push(record);
            }
        }
        if !crowds.is_empty() {
            self.add_claims(&crowds, &mut records).await?;
        }
        records.retain(|r| filter.free_too || !r.holders.is_empty());
        Ok(Page::new(records, next))
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let token = order.token.map(|t| t.as_i64());
        let bound: [Bound<'_>; 3] = [(&&**name, Type::TEXT), (&token, Type::INT8), (&order.now, Type::BOOL)];
        let (row, _) =
            self.row(&self.shared.statements.evict, &bound).await.map_err(|e| e.with_name(name))?;
        Ok(match value::<Option<i64>>(&row, 0)? {
            None => Eviction::NotHeld,
            Some(_) => Eviction::Evicted { token: super::backend::token(&row, 0)?.into() },
        })
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        self.findings().await
    }
}

/// The rows of a page of names, and where the next one begins. The statement takes the place if there is one, the name after
/// which the page begins, the prefix of the names, whether free names are listed too, and the number of rows. A row begins with
/// the name.
pub(super) async fn page(
    live: &Live,
    statement: &str,
    place: Option<&str>,
    filter: &Filter,
    from: Option<&Cursor>,
) -> Result<(Vec<Row>, Option<Cursor>)> {
    // Of all names with a prefix, the prefix itself comes first.
    let (after, prefix) = match &filter.exact {
        Some(name) => ("", &**name),
        None => (from.map_or("", Cursor::as_str), &*filter.prefix),
    };
    let mut bound: Vec<Bound<'_>> = Vec::with_capacity(5);
    bound.extend(place.as_ref().map(|place| -> Bound<'_> { (place, Type::TEXT) }));
    bound.push((&after, Type::TEXT));
    bound.push((&prefix, Type::TEXT));
    bound.push((&filter.free_too, Type::BOOL));
    bound.push((&PAGE, Type::INT8));
    let rows = live.rows(statement, &bound).await?;
    let is_full = rows.len() as i64 == PAGE && filter.exact.is_none();
    let last = rows.last().filter(|_| is_full);
    let next = last.map(|row| value::<String>(row, 0).map(Cursor::new)).transpose()?;
    Ok((rows, next))
}

impl Lease {
    /// Adds those who share these names, and counts those who wait for them.
    async fn add_claims(&self, names: &[String], records: &mut [Record]) -> Result<()> {
        let live = self.link.live().await?;
        let bound: [Bound<'_>; 1] = [(&names, Type::TEXT_ARRAY)];
        let rows = live.rows(&self.shared.statements.list_claims, &bound).await?;
        let mut by_name: HashMap<&str, Vec<&Row>> = HashMap::new();
        for row in &rows {
            by_name.entry(row.try_get(0).map_err(|_| unexpected("no name"))?).or_default().push(row);
        }
        for record in records {
            for row in by_name.remove(record.name.as_str()).unwrap_or_default() {
                if value(row, 1)? {
                    record.waiters = Some(record.waiters.unwrap_or(0) + 1);
                } else if record.holders.len() < LISTED_HOLDERS {
                    record.holders.push(sharer(row)?);
                } else {
                    record.unlisted += 1;
                }
            }
        }
        Ok(())
    }
}

/// A name, with the holder that has it alone.
fn record(row: &Row) -> Result<Record> {
    let mut record = Record::free(Name::new(value::<String>(row, 0)?)?);
    record.last_token = Some(token(row, 4)?.into());
    record.waiters = Some(0);
    if value(row, 1)? {
        let mut holder = Holder::new(value::<String>(row, 3)?, Mode::Exclusive, token(row, 2)?);
        holder.turns = turns(row, 8)?;
        holder.since = Some(time(value(row, 6)?));
        holder.remaining = Some(duration(value(row, 7)?));
        record.holders.push(holder);
    }
    Ok(record)
}

fn sharer(row: &Row) -> Result<Holder> {
    let count = |n: i32| u32::try_from(n).unwrap_or(0);
    let mode = match value::<String>(row, 2)?.as_str() {
        "p" => Mode::Permits {
            take: count(value(row, 3)?),
            of: count(value::<Option<i32>>(row, 8)?.unwrap_or(0)),
        },
        _ => Mode::Shared,
    };
    let mut holder = Holder::new(value::<String>(row, 5)?, mode, token(row, 4)?);
    holder.since = Some(time(value(row, 6)?));
    holder.remaining = Some(duration(value(row, 7)?));
    Ok(holder)
}

/// The length of a block of tokens.
pub(super) fn turns(row: &Row, column: usize) -> Result<u16> {
    u16::try_from(value::<i32>(row, column)?).map_err(|_| unexpected("too many turns"))
}

/// A time of the database's clock, in µs since 1970.
pub(super) fn time(micros: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

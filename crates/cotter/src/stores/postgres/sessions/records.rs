//! The rows beside the locks: notes, listing, evicting.

use super::backend::{Inner, Steps};
use crate::backend::{
    Admin, Claim, Cursor, EvictOrder, Filter, Finding, Grant, Holder, Mode, NoteAt, Notes, Page, Record,
    Until,
};
use crate::stores::postgres::admin::{page, time, turns};
use crate::stores::postgres::backend::{hex, one, token, value};
use crate::stores::postgres::live::Bound;
use crate::stores::postgres::notes;
use crate::stores::postgres::options::Options;
use crate::stores::postgres::statements::{ON_PRIMARY, may_replace};
use crate::stores::shared::sql::Table;
use crate::{Eviction, Name, Note, Result};
use async_trait::async_trait;
use tokio_postgres::types::Type;

/// The statements about the rows of one place.
#[derive(Debug)]
pub(super) struct Statements {
    evicted: String,
    give_back: String,
    list: String,
    evict: String,
    end: String,
    note_store: String,
}

impl Statements {
    pub(super) fn new(options: &Options) -> Self {
        let c = options.qualified();
        Self {
            evicted: format!(
                "select name, replace(evicted::text, '-', '') from {c}_session \
                 where place = $1 and name = any($2) and evicted is not null and {ON_PRIMARY}"
            ),
            give_back: format!(
                "update {c}_session set last = number + $4 - 1 \
                 where place = $1 and name = $2 and claim = $3::uuid and last = number + turns - 1"
            ),
            list: format!(
                "with a as materialized (select pid, (classid::bigint << 32) | objid::bigint as key from pg_locks \
                   where locktype = 'advisory' and granted and objsubid = 1 \
                     and database = (select oid from pg_database where datname = current_database())), \
                 s as (select s.*, s.claim is not null and case \
                     when s.xid::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) then false when s.xid is not null \
                     then coalesce(pg_xact_status(s.xid::xid8) = 'in progress', false) else a.key is not null end as held \
                   from {c}_session s left join a on a.pid = s.pid and a.key = s.key \
                   where place = $1 and name > $2 and starts_with(name, $3) and {ON_PRIMARY}) \
                 select name, held, number, label, last, (extract(epoch from since) * 1000000)::bigint, turns \
                 from s where $4 or held order by name limit $5"
            ),
            evict: format!("select {c}_evict_hold_v1($1, $2, $3)"),
            end: format!(
                "select pg_terminate_backend(pid, 1000) from {c}_session \
                 where place = $1 and name = $2 and evicted = claim and {c}_holds_v1(key, pid, xid)"
            ),
            note_store: format!(
                "select {c}_note_hold_v1($1, $2, $3::uuid, $4, $5, $6, $7, $8) where {}",
                may_replace(&c, ["$4", "$5", "$6", "$9"])
            ),
        }
    }
}

impl<S: Steps> Inner<S> {
    /// Says for each claim whether it was evicted.
    pub(super) async fn are_evicted(&self, claims: &[&Claim]) -> Result<Vec<bool>> {
        let names: Vec<&str> = claims.iter().map(|claim| &*claim.name).collect();
        let lock_set = self.steps.lock_set();
        let bound: [Bound<'_>; 2] = [(&lock_set, Type::TEXT), (&names, Type::TEXT_ARRAY)];
        let rows = self.parts.link.live().await?.rows(&self.records.evicted, &bound).await?;
        let pairs = rows.iter().map(|row| Ok((value(row, 0)?, value(row, 1)?)));
        let evicted: std::collections::HashMap<String, String> = pairs.collect::<Result<_>>()?;
        let is_evicted = |claim: &&Claim| evicted.get(&*claim.name).is_some_and(|id| *id == hex(claim.id));
        Ok(claims.iter().map(is_evicted).collect())
    }

    /// Gives back the turns that were not used. The next holder does not need them, so an error does no harm.
    pub(super) async fn give_back_turns(&self, claim: &Claim, (_, turns): (u64, u16), used: u16) {
        if used >= turns {
            return;
        }
        let (lock_set, id, used) = (self.steps.lock_set(), hex(claim.id), i64::from(used));
        let bound: [Bound<'_>; 4] =
            [(&lock_set, Type::TEXT), (&&*claim.name, Type::TEXT), (&id, Type::TEXT), (&used, Type::INT8)];
        if let Ok(live) = self.parts.pool.of(claim.id).live().await {
            let _ = live.write(&self.records.give_back, &bound, |_| Ok(()), |()| false).await;
        }
    }

    /// The name under which the notes of a lock are stored.
    fn note_name(&self, name: &Name) -> String {
        Table::note_name(self.options.common.table.as_ref(), self.steps.lock_set(), name)
    }
}

#[async_trait]
impl<S: Steps> Notes for Inner<S> {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        let loaded = notes::load(&self.parts.link, &self.statements, &self.note_name(name), key).await;
        loaded.map_err(|e| e.with_name(name))
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let (lock_set, name, id) = (self.steps.lock_set(), &grant.claim.name, hex(grant.claim.id));
        let (note, seen) = (self.note_name(name), at.seen.map(notes::number));
        let (by, sequence) = (notes::number(at.token), notes::number(at.sequence));
        let bound: [Bound<'_>; 9] = [
            (&lock_set, Type::TEXT),
            (&&**name, Type::TEXT),
            (&id, Type::TEXT),
            (&note, Type::TEXT),
            (&at.key, Type::TEXT),
            (&by, Type::INT8),
            (&sequence, Type::INT8),
            (&bytes, Type::BYTEA),
            (&seen, Type::INT8),
        ];
        let live = self.parts.link.live().await?;
        notes::store(&live, &self.records.note_store, &bound).await.map_err(|e| e.with_name(name))
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let swapped =
            notes::swap(&self.parts.link, &self.statements, &self.note_name(name), (key, seen), bytes).await;
        swapped.map_err(|e| e.with_name(name))
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        notes::changed(&self.parts.link, seen, until, || self.load(name, key)).await
    }
}

#[async_trait]
impl<S: Steps> Admin for Inner<S> {
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        let (live, lock_set) = (self.parts.link.live().await?, self.steps.lock_set());
        let (rows, next) = page(&live, &self.records.list, Some(lock_set), filter, from).await?;
        let mut records = rows.iter().map(record).collect::<Result<Vec<_>>>()?;
        records.retain(|record| filter.admits(&record.name));
        Ok(Page::new(records, next))
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let (lock_set, by) = (self.steps.lock_set(), order.token.map(|t| t.as_i64()));
        let bound: [Bound<'_>; 3] = [(&lock_set, Type::TEXT), (&&**name, Type::TEXT), (&by, Type::INT8)];
        let live = self.parts.link.live().await?;
        let read = |rows| {
            let row = one(rows)?;
            Ok(value::<Option<i64>>(&row, 0)?.map(|_| row))
        };
        let held = live.write(&self.records.evict, &bound, read, Option::is_some).await;
        let Some(row) = held.map_err(|e| e.with_name(name))? else { return Ok(Eviction::NotHeld) };
        if order.now {
            live.rows(&self.records.end, &bound[..2]).await.map_err(|e| e.with_name(name))?;
        }
        Ok(Eviction::Evicted { token: token(&row, 0)?.into() })
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        self.findings().await
    }
}

fn record(row: &tokio_postgres::Row) -> Result<Record> {
    let mut record = Record::free(Name::new(value::<String>(row, 0)?)?);
    record.last_token = Some(token(row, 4)?.into());
    if value(row, 1)? {
        let mut holder = Holder::new(value::<String>(row, 3)?, Mode::Exclusive, token(row, 2)?);
        holder.turns = turns(row, 6)?;
        holder.since = Some(time(value(row, 5)?));
        record.holders.push(holder);
    }
    Ok(record)
}

//! The rows beside the locks: notes, listing, evicting.

use super::backend::{Inner, Steps};
use super::ending::{self, SessionId};
use crate::backend::{
    Admin, Claim, Cursor, EvictOrder, Filter, Finding, Grant, Holder, Mode, NoteAt, Notes, Page, Record,
    Until,
};
use crate::stores::mysql::SCHEME;
use crate::stores::mysql::attempt::attempt;
use crate::stores::mysql::live::Running;
use crate::stores::mysql::notes;
use crate::stores::mysql::rows::{holes, text, value};
use crate::stores::mysql::schema::on_primary;
use crate::stores::mysql::session::Session;
use crate::stores::mysql::state;
use crate::stores::shared::sql::Table;
use crate::{Error, ErrorKind, Eviction, Name, Note, Result};
use async_trait::async_trait;
use mysql_async::{Params, Row, Value};
use std::collections::HashMap;

/// The number of names on a page.
const PAGE: usize = 500;

impl<S: Steps> Inner<S> {
    /// Runs a job after which no claim holds more than before.
    async fn run<T: Send + 'static>(
        &self,
        job: impl for<'s> Fn(&'s mut Session) -> Running<'s, Result<T>> + Clone + Send + 'static,
    ) -> Result<T> {
        attempt(&self.parts.link, |live| {
            let job = job.clone();
            async move { live.run(move |session| job(session)).await }
        })
        .await
    }

    async fn read(&self, statement: &str, values: impl Into<Params>) -> Result<Vec<Row>> {
        let (statement, values) = (statement.to_owned(), values.into());
        attempt(&self.parts.link, |live| {
            let (statement, values) = (statement.clone(), values.clone());
            async move {
                live.ask(move |session| Box::pin(async move { session.read(&statement, values).await })).await
            }
        })
        .await
    }

    /// Says for each claim whether it was evicted.
    pub(super) async fn are_evicted(&self, claims: &[&Claim]) -> Result<Vec<bool>> {
        if claims.is_empty() {
            return Ok(Vec::new());
        }
        let statement = on_primary(&format!("{}({})", self.statements.evicted, holes(claims.len())));
        let names = claims.iter().map(|claim| Value::from(claim.name.as_str())).collect();
        let rows = self.read(&statement, Params::Positional(names)).await?;
        let pairs = rows.iter().map(|row| Ok((text(row, 0)?, text(row, 1)?)));
        let evicted: HashMap<String, String> = pairs.collect::<Result<_>>()?;
        let is_evicted =
            |claim: &&Claim| evicted.get(&*claim.name).is_some_and(|id| *id == claim.id.to_string());
        Ok(claims.iter().map(is_evicted).collect())
    }

    /// Gives back the turns that were not used.
    pub(super) async fn give_back_turns(&self, claim: &Claim, (_, turns): (u64, u16), used: u16) {
        if used >= turns {
            return;
        }
        let (statement, name, id) =
            (self.statements.give_back.clone(), claim.name.to_string(), claim.id.to_string());
        if let Ok(live) = self.parts.pool.of(claim.id).live().await {
            let _ = live
                .run(move |own| Box::pin(async move { own.write(&statement, (used, name, id)).await }))
                .await;
        }
    }

    /// The name under which the notes of a lock are stored.
    fn note_name(&self, name: &Name) -> String {
        Table::note_name(self.shared.options.table.as_ref(), &self.statements.place, name)
    }

    /// The same for a note that is to be written. The column is as wide as the longest name.
    fn new_note_name(&self, name: &Name) -> Result<String> {
        let note = self.note_name(name);
        let over = note.len().saturating_sub(Name::MAX_BYTES);
        if over == 0 {
            return Ok(note);
        }
        let most = name.len() - over;
        let why = format!(
            "a lock of a row in {} can only have notes if its name has at most {most} bytes, and this one has {}",
            self.statements.place,
            name.len()
        );
        Err(Error::new(ErrorKind::InvalidName, why).with_backend(SCHEME).with_name(name))
    }

    async fn end_evicted(&self, name: &Name) -> Result<()> {
        let rows = self.read(&self.statements.evicted_session, (name.as_str(),)).await?;
        let Some(row) = rows.first() else { return Ok(()) };
        let id = SessionId { number: value(row, 0)?, marker: text(row, 1)?.into() };
        ending::end(&id, &self.parts.link).await
    }
}

#[async_trait]
impl<S: Steps> Notes for Inner<S> {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        let loaded = notes::load(&self.parts.link, &self.shared.servers, &self.note_name(name), key).await;
        loaded.map_err(|e| e.with_name(name))
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let (name, id) = (&grant.claim.name, grant.claim.id.to_string());
        let note = self.new_note_name(name)?;
        let mut values: Vec<Value> = vec![
            note.as_str().into(),
            at.key.into(),
            at.token.into(),
            at.sequence.into(),
            bytes.into(),
            name.as_str().into(),
            id.into(),
            at.token.into(),
        ];
        values.extend(notes::based_on(at, &note));
        let statement = self.statements.note_store.clone();
        let stored = self.run(move |session| {
            let (statement, values) = (statement.clone(), Params::Positional(values.clone()));
            Box::pin(async move {
                let written = session.write(&statement, values).await?;
                session.unless_demoted(written).await
            })
        });
        let written = stored.await.map_err(|e| e.with_name(name))?;
        Ok((written.rows > 0).then_some(written.id))
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let note = self.new_note_name(name)?;
        let swapped = notes::swap(&self.parts.link, &self.shared.servers, &note, (key, seen), bytes).await;
        swapped.map_err(|e| e.with_name(name))
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        notes::changed(&self.parts.link, seen, until, || self.load(name, key)).await
    }
}

#[async_trait]
impl<S: Steps> Admin for Inner<S> {
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        // Of all names with a prefix, the prefix itself comes first.
        let (after, prefix) = match &filter.exact {
            Some(name) => ("", &**name),
            None => (from.map_or("", Cursor::as_str), &*filter.prefix),
        };
        let values = (after, prefix, prefix, prefix, filter.free_too, PAGE);
        let rows = self.read(&self.statements.list, values).await?;
        let is_full = rows.len() == PAGE && filter.exact.is_none();
        let next = rows.last().filter(|_| is_full).map(|row| text(row, 0).map(Cursor::new)).transpose()?;
        let mut records = rows.iter().map(record).collect::<Result<Vec<_>>>()?;
        records.retain(|record| filter.admits(&record.name));
        Ok(Page::new(records, next))
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let (evict, owned) = (self.statements.evict.clone(), name.to_string());
        let token = order.token.map(|token| token.get());
        let evicted = self.run(move |session| {
            let (evict, owned) = (evict.clone(), owned.clone());
            Box::pin(async move { session.write(&evict, (owned, token, token)).await })
        });
        let number = evicted.await.map_err(|e| e.with_name(name))?.id;
        if number == 0 {
            return Ok(Eviction::NotHeld);
        }
        if order.now {
            self.end_evicted(name).await.map_err(|e| e.with_name(name))?;
        }
        Ok(Eviction::Evicted { token: number.into() })
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        self.findings().await
    }
}

fn record(row: &Row) -> Result<Record> {
    let mut record = Record::free(Name::new(text(row, 0)?)?);
    record.last_token = Some(value::<u64>(row, 4)?.into());
    if value(row, 1)? {
        let mut holder = Holder::new(text(row, 3)?, Mode::Exclusive, value(row, 2)?);
        holder.turns = value(row, 6)?;
        holder.since = Some(state::wall(state::now(value(row, 5)?)));
        record.holders.push(holder);
    }
    Ok(record)
}

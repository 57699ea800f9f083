//! Notes: a row for each, which stays.

use super::SCHEME;
use super::attempt::attempt;
use super::backend::Lease;
use super::connector::{Link, Servers};
use super::errors::unexpected;
use super::rows::{self, unless_changed, value};
use super::schema::Tables;
use super::session::Session;
use super::state::Lock;
use crate::backend::poll::{self, NoteChange};
use crate::backend::{ClaimId, Grant, NoteAt, Notes, Until};
use crate::stores::shared::sql::Boot;
use crate::{Name, Note, Result};
use async_trait::async_trait;
use mysql_async::{Params, Row, Value};
use std::sync::Arc;
use std::time::Duration;

/// A watched note is loaded this often.
const PERIOD: Duration = Duration::from_millis(250);

/// Loads the note beside a name.
pub(super) async fn load(link: &Link, servers: &Arc<Servers>, name: &str, key: &str) -> Result<Option<Note>> {
    attempt(link, |live| {
        let (name, key, servers) = (name.to_owned(), key.to_owned(), servers.clone());
        async move {
            live.ask(move |session| {
                Box::pin(async move {
                    let rows = session.read(&servers.tables.note_load, (name, key)).await?;
                    rows.first().map(note).transpose()
                })
            })
            .await
        }
    })
    .await
}

/// Writes the note beside a name, if its revision is still the one that was seen.
pub(super) async fn swap(
    link: &Link,
    servers: &Arc<Servers>,
    name: &str,
    (key, seen): (&str, u64),
    bytes: &[u8],
) -> Result<Option<u64>> {
    attempt(link, |live| {
        let (name, key, bytes) = (name.to_owned(), key.to_owned(), bytes.to_vec());
        let servers = servers.clone();
        async move {
            live.run(move |session| {
                Box::pin(async move {
                    let tables = &servers.tables;
                    let written = match seen {
                        0 => session.write(&tables.note_create, (name, key, bytes)).await,
                        _ => session.write(&tables.note_swap, (bytes, name, key, seen)).await,
                    };
                    let written = session.unless_demoted(unless_changed(written)?).await?;
                    Ok((written.rows > 0).then(|| seen + 1))
                })
            })
            .await
        }
    })
    .await
}

/// Waits until a note has another revision.
pub(super) async fn changed<L, F>(link: &Link, seen: u64, until: Until, load: L) -> Result<Option<Note>>
where
    L: FnMut() -> F + Send,
    F: Future<Output = Result<Option<Note>>> + Send,
{
    poll::until(&**link.clock(), until, &mut NoteChange::new(seen, PERIOD, load)).await
}

#[async_trait]
impl Notes for Lease {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        load(&self.link, &self.shared.servers, name, key).await.map_err(|e| e.with_name(name))
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let (name, id) = (&grant.claim.name, grant.claim.id);
        let stored = self.attempt(&self.link, |live| {
            let (name, servers) = (name.clone(), self.shared.servers.clone());
            let (key, bytes) = (at.key.to_owned(), bytes.to_vec());
            let (token, sequence, seen) = (at.token, at.sequence, at.seen);
            async move {
                live.run(move |session| {
                    Box::pin(async move {
                        let at = NoteAt { key: &key, token, sequence, seen };
                        store(session, &servers.tables, &name, id, at, &bytes).await
                    })
                })
                .await
            }
        });
        stored.await.map_err(|e| e.with_name(name))
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let swapped = swap(&self.link, &self.shared.servers, name, (key, seen), bytes).await;
        swapped.map_err(|e| e.with_name(name))
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        changed(&self.link, seen, until, || self.load(name, key)).await
    }
}

/// The row of the lock has to be the one that names the claim as a holder: the statement compares and locks it, so that nobody
/// can become the holder in between.
async fn store(
    session: &mut Session,
    tables: &Tables,
    name: &Name,
    id: ClaimId,
    at: NoteAt<'_>,
    bytes: &[u8],
) -> Result<Option<u64>> {
    loop {
        let (row, now) = rows::read(session, tables, name).await?;
        let lock: Lock = row.lock(name, Boot::OF_NO_MACHINE, now).map_err(|e| e.with_backend(SCHEME))?;
        let Some((last, text)) = row.found().filter(|_| lock.is_good(id)) else { return Ok(None) };
        let mut values: Vec<Value> = vec![at.key.into(), at.token.into(), at.sequence.into(), bytes.into()];
        values.extend([name.as_str().into(), last.into(), text.into()]);
        values.extend(based_on(at, name.as_str()));
        let written = unless_changed(session.write(&tables.note_store, Params::Positional(values)).await)?;
        if written.rows > 0 {
            return Ok(Some(written.id));
        }
        if rows::read(session, tables, name).await?.0 == row {
            // The lock is the same, so it was the note that refused.
            return Ok(None);
        }
    }
}

/// The values of [`may_replace`](super::schema::may_replace).
pub(super) fn based_on(at: NoteAt<'_>, name: &str) -> [Value; 6] {
    let seen = Value::from(at.seen);
    [seen.clone(), seen.clone(), at.token.into(), seen, name.into(), at.key.into()]
}

fn note(row: &Row) -> Result<Note> {
    let number =
        |column| u64::try_from(value::<i64>(row, column)?).map_err(|_| unexpected("a negative number"));
    Ok(Note::new(value(row, 0)?, number(1)?, number(2)?))
}

//! Notes: a row for each, which stays.

use super::SCHEME;
use super::backend::Lease;
use super::errors::unexpected;
use super::rows::{self, unless_changed, value};
use super::schema::Tables;
use super::session::Session;
use super::state::Lock;
use crate::backend::poll::{self, NoteChange};
use crate::backend::{ClaimId, Grant, NoteAt, Notes, Until};
use crate::{Name, Note, Result};
use async_trait::async_trait;
use mysql_async::Row;
use std::time::Duration;

/// A watched note is loaded this often.
const PERIOD: Duration = Duration::from_millis(250);

#[async_trait]
impl Notes for Lease {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        let loaded = self.attempt(&self.link, |live| {
            let (name, key, servers) = (name.clone(), key.to_owned(), self.shared.servers.clone());
            async move {
                live.run(move |session| {
                    Box::pin(async move {
                        let rows = session.read(&servers.tables.note_load, (name.as_str(), key)).await?;
                        rows.first().map(note).transpose()
                    })
                })
                .await
            }
        });
        loaded.await.map_err(|e| e.with_name(name))
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let (name, id) = (&grant.claim.name, grant.claim.id);
        let stored = self.attempt(&self.link, |live| {
            let (name, servers) = (name.clone(), self.shared.servers.clone());
            let (key, bytes) = (at.key.to_owned(), bytes.to_vec());
            let (token, sequence) = (at.token, at.sequence);
            async move {
                live.run(move |session| {
                    let at = (key, token, sequence);
                    Box::pin(async move { store(session, &servers.tables, &name, id, at, &bytes).await })
                })
                .await
            }
        });
        stored.await.map_err(|e| e.with_name(name))
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let swapped = self.attempt(&self.link, |live| {
            let (name, key, bytes) = (name.clone(), key.to_owned(), bytes.to_vec());
            let servers = self.shared.servers.clone();
            async move {
                live.run(move |session| {
                    Box::pin(async move {
                        let written = match seen {
                            0 => {
                                session.write(&servers.tables.note_create, (name.as_str(), key, bytes)).await
                            }
                            _ => {
                                session
                                    .write(&servers.tables.note_swap, (bytes, name.as_str(), key, seen))
                                    .await
                            }
                        };
                        Ok((unless_changed(written)?.rows > 0).then_some(seen + 1))
                    })
                })
                .await
            }
        });
        swapped.await.map_err(|e| e.with_name(name))
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        let mut change = NoteChange::new(seen, PERIOD, || self.load(name, key));
        poll::until(&**self.link.clock(), until, &mut change).await
    }
}

/// The row of the lock has to be the one that names the claim as a holder: the statement compares and locks it, so that nobody
/// can become the holder in between.
async fn store(
    session: &mut Session,
    tables: &Tables,
    name: &Name,
    id: ClaimId,
    (key, token, sequence): (String, u64, u64),
    bytes: &[u8],
) -> Result<Option<u64>> {
    loop {
        let (row, now) = rows::read(session, tables, name).await?;
        let lock: Lock = row.lock(name, "", now).map_err(|e| e.with_backend(SCHEME))?;
        let Some((last, text)) = row.found().filter(|_| lock.is_good(id)) else { return Ok(None) };
        let values = (&*key, token, sequence, bytes, name.as_str(), last, text);
        let written = unless_changed(session.write(&tables.note_store, values).await)?;
        if written.rows > 0 {
            return Ok(Some(written.id));
        }
        if rows::read(session, tables, name).await?.0 == row {
            // The lock is the same, so it was the note that refused.
            return Ok(None);
        }
    }
}

fn note(row: &Row) -> Result<Note> {
    let number =
        |column| u64::try_from(value::<i64>(row, column)?).map_err(|_| unexpected("a negative number"));
    Ok(Note::new(value(row, 0)?, number(1)?, number(2)?))
}

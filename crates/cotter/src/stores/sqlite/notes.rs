//! Notes.

use super::backend::Sqlite;
use super::errors::explain;
use super::rows::{self, Times};
use super::state::Lock;
use crate::backend::poll::{self, NoteChange};
use crate::backend::{ClaimId, Grant, NoteAt, Notes, Until};
use crate::{Name, Note, Result};
use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};
use std::sync::Arc;
use std::time::Duration;

/// The time after which a note is loaded again although nothing told of a change.
const PERIOD: Duration = Duration::from_secs(1);
/// The same, where the system does not tell of changes.
const PERIOD_WITHOUT_EVENTS: Duration = Duration::from_millis(50);

#[async_trait]
impl Notes for Sqlite {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        let (name, key) = (name.clone(), key.to_owned());
        self.connection.run(move |connection| load(connection, &name, &key)).await
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let (name, id, times) = (grant.claim.name.clone(), grant.claim.id, self.times.clone());
        let (key, token, sequence, seen) = (at.key.to_owned(), at.token, at.sequence, at.seen);
        let bytes = bytes.to_vec();
        self.connection
            .run(move |connection| {
                let at = NoteAt { key: &key, token, sequence, seen };
                store(connection, &times, &name, id, at, &bytes)
            })
            .await
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let (name, key, bytes) = (name.clone(), key.to_owned(), bytes.to_vec());
        self.connection.run(move |connection| swap(connection, &name, &key, seen, &bytes)).await
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        let woken = Arc::default();
        let directory = self.connection.directory();
        let watch = self.watcher().and_then(|watcher| watcher.watch_writes(directory, &woken));
        let period = if watch.is_some() { PERIOD } else { PERIOD_WITHOUT_EVENTS };
        let mut change = NoteChange::new(seen, period, || self.load(name, key)).with_hint(woken);
        poll::until(&*self.times.clock, until, &mut change).await
    }
}

fn load(connection: &Connection, name: &Name, key: &str) -> Result<Option<Note>> {
    let select = "SELECT value, token, revision FROM cotter_notes WHERE name = ?1 AND key = ?2";
    let mut statement = connection.prepare_cached(select).map_err(explain)?;
    let note = statement.query_row(params![name.as_str(), key], |row| {
        let (token, revision): (i64, i64) = (row.get(1)?, row.get(2)?);
        Ok(Note::new(row.get(0)?, token as u64, revision as u64))
    });
    note.optional().map_err(explain)
}

/// The row of the lock has to be the one that names the claim as a holder: the statement compares it, so that nobody can
/// become the holder in between.
fn store(
    connection: &Connection,
    times: &Times,
    name: &Name,
    id: ClaimId,
    at: NoteAt<'_>,
    bytes: &[u8],
) -> Result<Option<u64>> {
    let insert = "INSERT INTO cotter_notes (name, key, token, sequence, revision, value) \
                  SELECT ?1, ?2, ?3, ?4, 1, ?5 \
                  FROM cotter_locks WHERE name = ?1 AND last_token = ?6 AND state = ?7 AND (?8 IS NULL OR ?8 = \
                    coalesce((SELECT iif(token = ?3, ?8, revision) FROM cotter_notes WHERE name = ?1 AND key = ?2), 0)) \
                  ON CONFLICT DO UPDATE SET token = excluded.token, sequence = excluded.sequence, \
                  revision = revision + 1, value = excluded.value \
                  WHERE (excluded.token, excluded.sequence) > (token, sequence) RETURNING revision";
    loop {
        let now = times.now();
        let row = rows::read(connection, name)?;
        let lock: Lock = row.lock(name, times.boot(), now).map_err(|e| e.with_backend(super::SCHEME))?;
        let Some((last, text)) = row.found().filter(|_| lock.is_good(id)) else { return Ok(None) };
        let mut statement = connection.prepare_cached(insert).map_err(explain)?;
        let (key, token, sequence) = (at.key, at.token as i64, at.sequence as i64);
        let seen = at.seen.map(|seen| seen as i64);
        let written = statement
            .query_row(params![name.as_str(), key, token, sequence, bytes, last, text, seen], |row| {
                row.get::<_, i64>(0)
            })
            .optional()
            .map_err(explain)?;
        if let Some(revision) = written {
            return Ok(Some(revision as u64));
        }
        if rows::read(connection, name)? == row {
            // The lock is the same, so it was the note that refused.
            return Ok(None);
        }
    }
}

fn swap(connection: &Connection, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
    let swap = match seen {
        0 => {
            "INSERT INTO cotter_notes (name, key, token, sequence, revision, value) VALUES (?1, ?2, 0, 0, ?3 + 1, ?4) \
             ON CONFLICT DO NOTHING RETURNING revision"
        }
        _ => {
            "UPDATE cotter_notes SET token = 0, sequence = 0, revision = revision + 1, value = ?4 \
             WHERE name = ?1 AND key = ?2 AND revision = ?3 RETURNING revision"
        }
    };
    let mut statement = connection.prepare_cached(swap).map_err(explain)?;
    let written =
        statement.query_row(params![name.as_str(), key, seen as i64, bytes], |row| row.get::<_, i64>(0));
    Ok(written.optional().map_err(explain)?.map(|revision| revision as u64))
}

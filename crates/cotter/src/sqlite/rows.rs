//! Reading and replacing rows.

use super::errors::{contended, explain, foreign};
use super::state::{self, Lock};
use crate::lock_state::Now;
use crate::{Clock, Name, Result};
use rusqlite::{Connection, OptionalExtension, params};
use std::sync::Arc;
use std::time::Duration;

/// What a step needs besides a connection.
#[derive(Debug, Clone)]
pub(super) struct Times {
    pub(super) clock: Arc<dyn Clock>,
    /// This boot of the machine.
    pub(super) boot: Arc<str>,
}

impl Times {
    pub(super) fn now(&self) -> Now {
        Now { at: self.clock.now(), micros: crate::clock::unix_micros(self.clock.wall()) }
    }
}

/// The row of a name, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// Tokens of deleted rows are not larger.
    floor: i64,
    /// The last token and the state; `None` if there is no row.
    found: Option<(i64, String)>,
}

impl Row {
    pub(super) fn read(connection: &Connection, name: &Name) -> Result<Self> {
        let select = "SELECT f.token, l.last_token, l.state FROM cotter_floor f LEFT JOIN cotter_locks l ON l.name = ?1";
        let mut statement = connection.prepare_cached(select).map_err(explain)?;
        let row = statement.query_row([name.as_str()], |row| {
            let found = row.get::<_, Option<i64>>(1)?.zip(row.get(2)?);
            Ok(Self { floor: row.get(0)?, found })
        });
        row.map_err(explain)
    }

    /// The last token and the state, if there is a row.
    pub(super) fn found(&self) -> Option<(i64, &str)> {
        self.found.as_ref().map(|(last, text)| (*last, text.as_str()))
    }

    pub(super) fn lock(&self, name: &Name, boot: &str) -> Result<Lock> {
        let (last, text) = self.found().unwrap_or((self.floor, ""));
        let last = u64::try_from(last).map_err(|_| foreign(name))?;
        state::read(name, last, text, boot).ok_or_else(|| foreign(name))
    }

    /// Replaces it, unless it has changed. A row that was deleted and written again may only be the same in everything
    /// that counts, and the floor tells whether one was deleted.
    fn replace(&self, connection: &Connection, name: &Name, last: i64, text: &str) -> Result<bool> {
        let name = name.as_str();
        let changed = match &self.found {
            Some((seen, before)) => {
                let update = "UPDATE cotter_locks SET last_token = ?2, state = ?3 \
                              WHERE name = ?1 AND last_token = ?4 AND state = ?5";
                let mut statement = connection.prepare_cached(update).map_err(explain)?;
                statement.execute(params![name, last, text, seen, before])
            }
            None => {
                let insert = "INSERT INTO cotter_locks (name, last_token, state) SELECT ?1, ?2, ?3 \
                              WHERE (SELECT token FROM cotter_floor) = ?4 ON CONFLICT DO NOTHING";
                let mut statement = connection.prepare_cached(insert).map_err(explain)?;
                statement.execute(params![name, last, text, self.floor])
            }
        };
        Ok(changed.map_err(explain)? == 1)
    }
}

/// How often a step is tried while other processes change the row. One of them succeeds each time.
const TRIES: usize = 10_000;

/// Changes a lock in one step, and returns what `work` returned together with the time before the row was read. Nothing is
/// written if nothing changes.
pub(super) fn change<T>(
    connection: &Connection,
    times: &Times,
    name: &Name,
    mut work: impl FnMut(&mut Lock, Now) -> Result<T>,
) -> Result<(T, Now)> {
    for _ in 0..TRIES {
        let now = times.now();
        let row = Row::read(connection, name)?;
        let mut lock = row.lock(name, &times.boot)?;
        lock.advance(now);
        let done = work(&mut lock, now).map_err(|e| e.with_backend(super::SCHEME))?;
        let (last, text) = (lock.last as i64, state::write(&lock, &times.boot));
        let is_same = row.found() == Some((last, &text)) || (row.found.is_none() && text.is_empty());
        if is_same || row.replace(connection, name, last, &text)? {
            return Ok((done, now));
        }
    }
    Err(contended(name))
}

/// Reads a lock.
pub(super) fn look<T>(
    connection: &Connection,
    times: &Times,
    name: &Name,
    work: impl FnOnce(&Lock, Now) -> T,
) -> Result<T> {
    let now = times.now();
    let mut lock = Row::read(connection, name)?.lock(name, &times.boot)?;
    lock.advance(now);
    Ok(work(&lock, now))
}

/// Names that were not used for this long are forgotten.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// Deletes some rows of unused names.
pub(super) fn forget_unused(connection: &Connection, times: &Times) -> Result<()> {
    let before = times.now().micros.saturating_sub(REMEMBERED.as_micros() as u64);
    let delete = "DELETE FROM cotter_locks WHERE name IN \
                  (SELECT name FROM cotter_locks WHERE state = '' AND last_token < ?1 LIMIT 500)";
    connection.execute(delete, [before as i64]).map_err(explain)?;
    Ok(())
}

/// Up to `size` names after the name `from`, in order.
pub(super) fn names(connection: &Connection, from: &str, size: usize) -> Result<Vec<String>> {
    let select = "SELECT name FROM cotter_locks WHERE name > ?1 ORDER BY name LIMIT ?2";
    let mut statement = connection.prepare_cached(select).map_err(explain)?;
    let rows = statement.query_map(params![from, size as i64], |row| row.get(0)).map_err(explain)?;
    rows.collect::<Result<_, _>>().map_err(explain)
}

/// The value of a pragma, as text.
pub(super) fn pragma(connection: &Connection, name: &str) -> Result<Option<String>> {
    let value = connection.query_row(&format!("PRAGMA {name}"), [], |row| {
        row.get_ref(0).map(|v| v.as_str().map_or_else(|_| format!("{v:?}"), str::to_owned))
    });
    value.optional().map_err(explain)
}

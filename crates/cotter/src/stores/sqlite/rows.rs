//! Reading and replacing rows.

use super::errors::explain;
use super::state::Lock;
use crate::stores::shared::lock_state::Now;
use crate::stores::shared::sql::{Boot, REMEMBERED, Row, TRIES, contended};
use crate::{Clock, Name, Result};
use rusqlite::{Connection, OptionalExtension, params};
use std::sync::Arc;

/// The clocks that a step needs besides a connection.
#[derive(Debug, Clone)]
pub(super) struct Times {
    pub(super) clock: Arc<dyn Clock>,
    /// The name of this boot of the machine, if it has one.
    boot: Arc<str>,
}

impl Times {
    pub(super) fn new(clock: Arc<dyn Clock>, boot: String) -> Self {
        Self { clock, boot: boot.into() }
    }

    /// The name of this boot of the machine; empty if it has none.
    pub(super) fn boot_id(&self) -> Arc<str> {
        self.boot.clone()
    }

    pub(super) fn now(&self) -> Now {
        Now { at: self.clock.now(), micros: crate::clock::unix_micros(self.clock.wall()) }
    }

    /// This boot of the machine, for a row that was just read.
    pub(super) fn boot(&self) -> Boot<'_> {
        Boot { id: &self.boot, at: self.clock.now() }
    }
}

/// Reads the row of a name.
pub(super) fn read(connection: &Connection, name: &Name) -> Result<Row> {
    let select =
        "SELECT f.token, l.last_token, l.state FROM cotter_floor f LEFT JOIN cotter_locks l ON l.name = ?1";
    let mut statement = connection.prepare_cached(select).map_err(explain)?;
    let row = statement.query_row([name.as_str()], |row| {
        let found = row.get::<_, Option<i64>>(1)?.zip(row.get(2)?);
        Ok(Row { floor: row.get(0)?, found })
    });
    row.map_err(explain)
}

/// Replaces a row, unless it has changed. A row that was deleted and written again may only be the same in everything
/// that counts, and the floor tells whether one was deleted.
fn replace(connection: &Connection, name: &Name, row: &Row, last: i64, text: &str) -> Result<bool> {
    let name = name.as_str();
    let changed = match &row.found {
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
            statement.execute(params![name, last, text, row.floor])
        }
    };
    Ok(changed.map_err(explain)? == 1)
}

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
        let row = read(connection, name)?;
        let step = row.step(name, times.boot(), now, &mut work).map_err(|e| e.with_backend(super::SCHEME))?;
        let is_done = match &step.next {
            None => true,
            Some((last, text)) => replace(connection, name, &row, *last, text)?,
        };
        if is_done {
            return Ok((step.done, now));
        }
    }
    Err(contended(name).with_backend(super::SCHEME))
}

/// Reads a lock.
pub(super) fn look<T>(
    connection: &Connection,
    times: &Times,
    name: &Name,
    work: impl FnOnce(&Lock, Now) -> T,
) -> Result<T> {
    let now = times.now();
    let lock = read(connection, name)?.lock(name, times.boot(), now);
    Ok(work(&lock.map_err(|e| e.with_backend(super::SCHEME))?, now))
}

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

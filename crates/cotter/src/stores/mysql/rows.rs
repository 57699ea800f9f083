//! Reading and replacing rows. All of this runs in the task of a connection.

use super::SCHEME;
use super::errors::{DEADLOCK, DUPLICATE, code, unexpected};
use super::schema::{TAKES_WRITES, Tables};
use super::session::{Session, Written};
use super::state::{self, Lock};
use crate::stores::shared::lock_state::Now;
use crate::stores::shared::sql::{Boot, REMEMBERED, Row, TRIES, contended};
use crate::{Moment, Name, Result};
use mysql_async::prelude::FromValue;
use mysql_async::{Params, Value};
use std::collections::HashMap;

/// The result of `change`: the new value, the server's time, and a moment before the request for that time.
#[derive(Debug, Clone)]
pub(super) struct Changed<T> {
    pub(super) done: T,
    pub(super) now: Now,
    pub(super) as_of: Moment,
}

/// A column of a row.
pub(super) fn value<T: FromValue>(row: &mysql_async::Row, column: usize) -> Result<T> {
    let value = row.as_ref(column).cloned().ok_or_else(|| unexpected("a column is missing"))?;
    T::from_value_opt(value).map_err(|_| unexpected("a value of an unexpected type"))
}

/// A column with text.
pub(super) fn text(row: &mysql_async::Row, column: usize) -> Result<String> {
    String::from_utf8(value(row, column)?).map_err(|_| unexpected("a text that is not UTF-8"))
}

/// Reads the row of a name, and the server's clock.
pub(super) async fn read(session: &mut Session, tables: &Tables, name: &Name) -> Result<(Row, Now)> {
    let rows = session.read(&tables.read, (name.as_str(),)).await?;
    let row = rows.first().ok_or_else(|| unexpected("no row"))?;
    session.goes_on(value(row, 1)?)?;
    let last: Option<i64> = value(row, 3)?;
    let found = last.map(|last| text(row, 4).map(|text| (last, text))).transpose()?;
    let floor: Option<i64> = value(row, 2)?;
    Ok((Row { floor: floor.unwrap_or(0), found }, state::now(value(row, 0)?)))
}

/// The same for several names, in this order.
pub(super) async fn read_many(
    session: &mut Session,
    tables: &Tables,
    names: &[Name],
) -> Result<(Vec<Row>, Now)> {
    let values = names.iter().map(|name| Value::from(name.as_str())).collect();
    let found = session.read(&tables.read_many(names.len()), Params::Positional(values)).await?;
    let (mut by_name, mut micros) = (HashMap::new(), None);
    for row in &found {
        micros = Some(value(row, 0)?);
        session.goes_on(value(row, 1)?)?;
        if row.as_ref(2) != Some(&Value::NULL) {
            by_name.insert(text(row, 2)?, (value::<i64>(row, 3)?, text(row, 4)?));
        }
    }
    // The token of a row that is not there does not matter to those who hold nothing in it.
    let row = |name: &Name| Row { floor: 0, found: by_name.remove(name.as_str()) };
    let now = state::now(micros.ok_or_else(|| unexpected("no row"))?);
    Ok((names.iter().map(row).collect(), now))
}

/// Replaces several rows by one statement, those that have not changed. Returns whether these were all of them.
pub(super) async fn replace_many(
    session: &mut Session,
    tables: &Tables,
    next: Vec<(&Name, Row, (i64, String))>,
) -> Result<bool> {
    let (mut cases, mut keys, mut compared) = (Vec::new(), Vec::new(), Vec::new());
    let count = next.len();
    for (name, row, (last, text)) in next {
        let (Some((seen, before)), name) = (row.found, name.as_str()) else { return Ok(false) };
        if seen != last {
            return Ok(false);
        }
        cases.extend([Value::from(name), Value::from(text)]);
        keys.push(Value::from(name));
        compared.extend([Value::from(name), Value::from(seen), Value::from(before)]);
    }
    if count == 0 {
        return Ok(true);
    }
    let statement = format!(
        "UPDATE {} SET state = CASE name {} END WHERE name IN ({}) AND ({}) AND {TAKES_WRITES}",
        tables.locks,
        vec!["WHEN ? THEN ?"; count].join(" "),
        holes(count),
        vec!["name = ? AND last_token = ? AND state = ?"; count].join(" OR "),
    );
    cases.append(&mut keys);
    cases.append(&mut compared);
    let written = unless_changed(session.write(&statement, Params::Positional(cases)).await)?;
    Ok(written.rows == count as u64)
}

/// Placeholders for this many values.
pub(super) fn holes(count: usize) -> String {
    vec!["?"; count].join(", ")
}

/// Replaces a row, unless it has changed.
async fn replace(
    session: &mut Session,
    tables: &Tables,
    name: &Name,
    row: &Row,
    (last, text): (i64, String),
) -> Result<bool> {
    let name = name.as_str();
    let written = match row.found() {
        Some((seen, before)) => session.write(&tables.update, (last, text, name, seen, before)).await,
        None => session.write(&tables.insert, (name, last, text)).await,
    };
    Ok(unless_changed(written)?.rows > 0)
}

/// No rows, where others were quicker.
pub(super) fn unless_changed(written: Result<Written>) -> Result<Written> {
    match written {
        Err(e) if matches!(code(&e), Some(DUPLICATE | DEADLOCK)) => Ok(Written { rows: 0, id: 0 }),
        written => written,
    }
}

/// Changes a lock in one step. Nothing is written if nothing changes.
pub(super) async fn change<T>(
    session: &mut Session,
    tables: &Tables,
    name: &Name,
    mut work: impl FnMut(&mut Lock, Now) -> Result<T>,
) -> Result<Changed<T>> {
    for _ in 0..TRIES {
        let as_of = session.now();
        let (row, now) = read(session, tables, name).await?;
        let step = row.step(name, Boot::OF_NO_MACHINE, now, &mut work).map_err(|e| e.with_backend(SCHEME))?;
        let is_done = match step.next {
            None => true,
            Some(next) => replace(session, tables, name, &row, next).await?,
        };
        if is_done {
            return Ok(Changed { done: step.done, now, as_of });
        }
    }
    Err(contended(name).with_backend(SCHEME))
}

/// Deletes some rows of unused names. The floor is raised before, so that no token is given twice.
pub(super) async fn forget_unused(session: &mut Session, tables: &Tables) -> Result<()> {
    let now: u64 =
        value(session.read(&tables.clock, ()).await?.first().ok_or_else(|| unexpected("no row"))?, 0)?;
    let before = now.saturating_sub(REMEMBERED.as_micros() as u64) as i64;
    let names: Vec<Value> = session
        .read(&tables.unused, (before,))
        .await?
        .iter()
        .map(|row| value::<Vec<u8>>(row, 0).map(Value::from))
        .collect::<Result<_>>()?;
    if names.is_empty() {
        return Ok(());
    }
    session.write(&tables.raise_floor, (before,)).await?;
    let holes = holes(names.len());
    let mut values = vec![Value::from(before)];
    values.extend(names);
    session.write(&format!("{}({holes})", tables.forget), Params::Positional(values)).await.map(drop)
}

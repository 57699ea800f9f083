//! The transactions of an uncontended lock on SQLite: the row is taken in one of them, and freed in another. In a database of its
//! own, beside the measured one, with the same settings.

use super::measure::rate;
use super::raw::HOLDER;
use cotter_console::{Exit, Failure};
use rusqlite::{Connection, params};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;

const TABLE: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; \
    CREATE TABLE IF NOT EXISTS locks (name TEXT PRIMARY KEY, last_token INTEGER NOT NULL, state BLOB NOT NULL) WITHOUT ROWID;";
const TAKE: &str = "UPDATE locks SET last_token = last_token + 1, state = ?2 WHERE name = ?1 AND state = x''";
const FREE: &str = "UPDATE locks SET state = x'' WHERE name = ?1 AND state = ?2";

/// Pairs per second. One connection does them all: a second one would only wait for the first.
pub(super) async fn pairs(path: &Path, tasks: u32, time: Duration, on: &Handle) -> Result<f64, Failure> {
    let connection = Connection::open(path).map_err(broken)?;
    connection.execute_batch(TABLE).map_err(broken)?;
    for n in 0..tasks {
        connection.execute("INSERT OR IGNORE INTO locks VALUES (?1, 0, x'')", [name(n)]).map_err(broken)?;
    }
    let turns = Mutex::new((connection, 0));
    let pair = move || {
        let mut turns = turns.lock().unwrap_or_else(PoisonError::into_inner);
        let (connection, n) = &mut *turns;
        *n = (*n + 1) % tasks;
        let done = once(connection, &name(*n)).map_err(broken);
        async move { done }
    };
    rate(std::iter::once(pair), time, on).await
}

fn once(connection: &mut Connection, name: &str) -> rusqlite::Result<()> {
    for statement in [TAKE, FREE] {
        let step = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        step.prepare_cached(statement)?.execute(params![name, &HOLDER[..]])?;
        step.commit()?;
    }
    Ok(())
}

fn name(n: u32) -> String {
    format!("raw:{n}")
}

fn broken(error: rusqlite::Error) -> Failure {
    Failure::new(Exit::Unreachable, format!("the store failed: {error}"))
}

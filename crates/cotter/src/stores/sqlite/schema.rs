//! The tables.

use super::errors::explain;
use crate::Result;
use crate::error::config;
use crate::stores::shared::sql::created;
use rusqlite::Connection;

/// `WAL`: readers and writers do not wait for each other, and a step costs no write to the disk.
const WAL: &str = "PRAGMA journal_mode = WAL";

/// The trigger keeps the tokens of a deleted row from being given out again.
pub(super) const TABLES: &str = "\
CREATE TABLE IF NOT EXISTS cotter_locks (
  name TEXT PRIMARY KEY,
  last_token INTEGER NOT NULL,
  state TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cotter_notes (
  name TEXT NOT NULL,
  key TEXT NOT NULL,
  token INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (name, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cotter_floor (token INTEGER NOT NULL);
INSERT INTO cotter_floor (token) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM cotter_floor);
CREATE TRIGGER IF NOT EXISTS cotter_locks_forgotten AFTER DELETE ON cotter_locks BEGIN
  UPDATE cotter_floor SET token = max(token, OLD.last_token);
END;
";

/// The statements that drop it again. The trigger goes with its table.
pub(super) fn drops() -> String {
    created(TABLES, "CREATE TABLE IF NOT EXISTS ")
        .map(|table| format!("DROP TABLE IF EXISTS {table};\n"))
        .collect()
}

/// Creates what is missing, all or nothing.
pub(super) fn create(connection: &Connection) -> Result<()> {
    connection.query_row(WAL, [], |_| Ok(())).map_err(explain)?;
    connection.execute_batch(&format!("BEGIN IMMEDIATE;\n{TABLES}COMMIT;")).map_err(explain)
}

/// Fails if a table is missing.
pub(super) fn check(connection: &Connection) -> Result<()> {
    let count = "SELECT count(*) FROM sqlite_schema WHERE name IN ('cotter_locks', 'cotter_notes', 'cotter_floor', \
                 'cotter_locks_forgotten')";
    let found: i64 = connection.query_row(count, [], |row| row.get(0)).map_err(explain)?;
    if found < 4 {
        let why = "the database has no tables for locks; run `cotter migrate`";
        return Err(config(why).with_backend(super::SCHEME));
    }
    Ok(())
}

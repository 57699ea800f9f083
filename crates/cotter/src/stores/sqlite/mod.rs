//! Locks in an SQLite database: for the processes of one host, including those in different containers that mount the
//! same volume.
//!
//! A lock is a row with its holders, its queue and its last token. Each step reads the row, works out the next one, and
//! replaces it by a single statement that does nothing if the row has changed in the meantime. No step keeps a transaction
//! open, because a process that is stopped inside one blocks every name.
//!
//! Leases are measured on the clock that counts from the machine's boot, and rows name that boot: setting the time of
//! day has no effect, and after a restart of the machine nothing is held. The time of day is only a lower bound of the
//! tokens.
//!
//! # Tables
//! `cotter migrate` (or [`Builder::migrate`](crate::Builder::migrate)) creates them; no other call does.
//! - `cotter_locks`, a row for each name. Rows of names that have not been used for an hour are deleted from time to
//!   time.
//! - `cotter_floor`, one number: no token is smaller than those of deleted rows.
//! - `cotter_notes`, the notes.
//!
//! # Limits
//! Waiters are woken by changes to the files of the database, whatever changed there: each of them then reads its row.
//! That is cheap for dozens of waiting processes on a host, not for thousands. The database must be on a local file
//! system.

// | file | concept |
// |---|---|
// | `options` | the path and the options in a URL |
// | `schema` | the tables |
// | `files` | where the files of a database are |
// | `connection` | the thread that owns the connection |
// | `presence` | that this process has connections, for its forks |
// | `errors` | translating errors of SQLite |
// | `state` | the waiters of this host |
// | `rows` | reading and replacing rows |
// | `backend` | the contract |
// | `waiting` | waiting in the queue of a name |
// | `notes` | notes |
// | `admin`, `doctor` | listing and evicting; diagnosing a database |

mod admin;
mod backend;
mod connection;
mod doctor;
mod errors;
mod files;
mod notes;
mod options;
mod presence;
mod rows;
mod schema;
mod state;
mod waiting;

use crate::Result;
use crate::backend::{Backend, Connect, Host};
use async_trait::async_trait;
use connection::{Connection, Open};
use options::Options;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The scheme of the URLs.
const SCHEME: &str = "sqlite";

/// Locks in an SQLite database on this host.
///
/// ```
/// # use cotter::{sqlite, Client};
/// # fn main() -> cotter::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("locks.db");
/// let store = sqlite::Store::at(path);
/// Client::builder().migrate_store(store.clone()).wait()?; // once, before the first use
/// let client = Client::builder().connect_to(store).wait()?;
/// let guard = client.mutex("orders:cleanup").lock().wait()?;
/// guard.finish().wait()?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Store {
    options: Options,
}

impl Store {
    /// Uses the database at this path, which must be absolute. Nothing is opened yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { options: Options::new(path.into()) }
    }

    /// Sets how long a step waits for other processes that write to the database; `timeout` in a URL. Default: 2 s.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = timeout;
        self
    }

    pub(crate) fn from_url(rest: &str) -> Result<Self> {
        Ok(Self { options: options::parse(rest)? })
    }
}

#[async_trait]
impl Connect for Store {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let connection = Connection::open(&self.options, Open::Existing).await?;
        connection.run(schema::check).await?;
        Ok(Arc::new(backend::Sqlite::new(connection, host.clock().clone(), &self.options)?))
    }

    fn schema(&self) -> Option<String> {
        Some(schema::TABLES.to_owned())
    }

    fn drop_statements(&self) -> Option<String> {
        Some(schema::drops())
    }

    async fn migrate(&self) -> Result<()> {
        let connection = Connection::open(&self.options, Open::OrCreate).await?;
        connection.run(schema::create).await?;
        connection.close().await;
        Ok(())
    }
}

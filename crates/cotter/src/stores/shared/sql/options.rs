//! The options that all stores with a database server have, and their defaults.

use super::{Mode, Table, identifier, quoted};
use crate::Result;
use crate::error::config;
use crate::stores::shared::net::{connections, duration, word};
use std::time::Duration;

/// The options of a store, without those that only one database has.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// The servers and the database, in readable form.
    pub(crate) instance: String,
    /// The beginning of the names of tables.
    pub(crate) prefix: String,
    pub(crate) connect_timeout: Duration,
    pub(crate) timeout: Duration,
    pub(crate) client_name: String,
    /// The most connections that one runtime has for requests.
    pub(crate) connections: usize,
    pub(crate) mode: Mode,
    /// The server ends a session that holds a lock after its client was silent for this long.
    pub(crate) session_timeout: Duration,
    /// The rows to lock in `mode=row`, instead of those of the store, or ShedLock's table.
    pub(crate) table: Option<Table>,
}

/// A session that is silent for less could be that of a busy client.
const MIN_SESSION_TIMEOUT: Duration = Duration::from_millis(400);

impl Default for Options {
    fn default() -> Self {
        Self {
            instance: String::new(),
            prefix: "cotter".into(),
            connect_timeout: Duration::from_secs(2),
            timeout: Duration::from_secs(2),
            client_name: "cotter".into(),
            connections: 4,
            mode: Mode::Lease,
            session_timeout: Duration::from_secs(8),
            table: None,
        }
    }
}

impl Options {
    /// Sets one of these options; `known` lists those of the store, for the error.
    pub(crate) fn set(&mut self, key: &str, value: String, known: &str) -> Result<()> {
        match key {
            "mode" => self.mode = Mode::parse(&value)?,
            "session_timeout" => self.session_timeout = duration(key, &value)?,
            "table" => self.table.get_or_insert_default().set_name(key, &value)?,
            "column" => self.table.get_or_insert_default().column = identifier(key, value)?,
            "prefix" => self.prefix = identifier(key, value)?,
            "connect_timeout" => self.connect_timeout = duration(key, &value)?,
            "timeout" => self.timeout = duration(key, &value)?,
            "connections" => self.connections = connections(key, &value)?,
            "client_name" => self.client_name = word(key, value)?,
            _ => return Err(config(format!("unknown option {key:?}; the options are {known}"))),
        }
        Ok(())
    }

    /// Refuses options that contradict each other.
    pub(crate) fn check(&self) -> Result<()> {
        Table::check(self.table.as_ref(), self.mode)?;
        if self.session_timeout < MIN_SESSION_TIMEOUT {
            return Err(config(format!("session_timeout= must be at least {MIN_SESSION_TIMEOUT:?}")));
        }
        Ok(())
    }

    /// The name of ShedLock's table.
    pub(crate) fn shedlock_name(&self) -> &str {
        self.table.as_ref().map_or(Table::SHEDLOCK, |table| &table.name)
    }

    /// ShedLock's table, as it is written in a statement.
    pub(crate) fn shedlock(&self, quote: char) -> String {
        quoted(self.shedlock_name(), quote)
    }
}

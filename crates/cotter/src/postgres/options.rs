//! The options of a store, and their defaults.

use super::address::{Address, Place};
use crate::Result;
use crate::error::config;
use crate::net::{Certificates, connections, duration, pairs, read_password, split, verifies, word};
use crate::sql::{Mode, Table, identifier, quoted};
use std::time::Duration;

/// The options of a store.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) instance: String,
    pub(super) schema: String,
    pub(super) prefix: String,
    pub(super) connect_timeout: Duration,
    pub(super) timeout: Duration,
    pub(super) client_name: String,
    /// The most connections that one runtime has for requests.
    pub(super) connections: usize,
    pub(super) mode: Mode,
    /// The server ends a session that holds a lock when its client is silent for so long.
    pub(super) session_timeout: Duration,
    /// The rows to lock in `mode=row`, instead of those of the store.
    pub(super) table: Option<Table>,
}

/// A session that is silent for less could be that of a busy client.
const MIN_SESSION_TIMEOUT: Duration = Duration::from_millis(400);

impl Options {
    pub(super) fn new() -> Self {
        Self {
            instance: String::new(),
            schema: "public".into(),
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

    /// ShedLock's table, as it stands in a statement.
    pub(super) fn shedlock(&self) -> String {
        quoted(self.shedlock_name(), '"')
    }

    fn shedlock_name(&self) -> &str {
        self.table.as_ref().map_or(Table::SHEDLOCK, |table| &table.name)
    }

    /// The table without which there is no lock, as it stands in a statement, and as it is told.
    pub(super) fn needed(&self) -> (String, String) {
        if self.mode == Mode::ShedLock {
            return (self.shedlock(), format!("there is no table {}", self.shedlock_name()));
        }
        let name = format!("{}_lock", self.prefix);
        (
            format!("{}_lock", self.qualified()),
            format!("there is no table {name} in the schema {}", self.schema),
        )
    }

    /// How statements begin the names of tables and functions.
    pub(super) fn qualified(&self) -> String {
        format!("\"{}\".{}", self.schema, self.prefix)
    }
}

/// Parses a URL, and reads the files that it names.
pub(super) fn parse(url: &str) -> Result<(Place, Options)> {
    let (scheme, rest, query) = split(url)?;
    let mut address = Address::parse(scheme, rest)?;
    let mut certificates = Certificates::default();
    let mut options = Options::new();
    for pair in pairs(query) {
        let (key, value) = pair?;
        match key {
            "host" => address.socket(&value)?,
            "sslmode" => address.tls = Some(verifies(key, &value)?),
            "ca" | "cert" | "key" => certificates.read(key, &value)?,
            "password_file" => address.password = Some(read_password(&value)?),
            _ => options.set(key, value)?,
        }
    }
    options.check()?;
    options.instance = address.instance();
    Ok((address.place(&certificates, &options)?, options))
}

/// Changes options as the query of a URL does, but for those that are about the connection.
pub(super) fn change(query: &str, place: &mut Place, options: &mut Options) -> Result<()> {
    let mut certificates = Certificates::default();
    for pair in pairs(query) {
        let (key, value) = pair?;
        match key {
            "ca" | "cert" | "key" => certificates.read(key, &value)?,
            "host" | "sslmode" | "password_file" | "client_name" => {
                return Err(config(format!("{key}= is part of the address, which is set already")));
            }
            _ => options.set(key, value)?,
        }
    }
    options.check()?;
    if !certificates.is_empty() {
        place.tls.as_ref().ok_or_else(|| config("ca=, cert= and key= need TLS"))?;
        place.tls = Some(certificates.config()?);
    }
    Ok(())
}

impl Options {
    fn set(&mut self, key: &str, value: String) -> Result<()> {
        match key {
            "mode" => self.mode = Mode::parse(&value, &MODES)?,
            "session_timeout" => self.session_timeout = duration(key, &value)?,
            "table" => self.table().set_name(key, &value)?,
            "column" => self.table().column = identifier(key, value)?,
            "schema" => self.schema = identifier(key, value)?,
            "prefix" => self.prefix = identifier(key, value)?,
            "connect_timeout" => self.connect_timeout = duration(key, &value)?,
            "timeout" => self.timeout = duration(key, &value)?,
            "connections" => self.connections = connections(key, &value)?,
            "client_name" => self.client_name = word(key, value)?,
            _ => return Err(config(format!("unknown option {key:?}; the options are {NAMES}"))),
        }
        Ok(())
    }

    fn table(&mut self) -> &mut Table {
        self.table.get_or_insert_default()
    }

    /// Refuses options that contradict each other.
    pub(super) fn check(&self) -> Result<()> {
        Table::check(self.table.as_ref(), self.mode)?;
        if self.session_timeout < MIN_SESSION_TIMEOUT {
            return Err(config(format!("session_timeout= must be at least {MIN_SESSION_TIMEOUT:?}")));
        }
        Ok(())
    }
}

const MODES: [Mode; 4] = [Mode::Lease, Mode::Row, Mode::Advisory, Mode::ShedLock];
const NAMES: &str = "mode, schema, prefix, table, column, session_timeout, connections, connect_timeout, timeout, client_name, host, sslmode, ca, cert, key, password_file";

#[cfg(test)]
mod tests;

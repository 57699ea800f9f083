//! The options of a store, and their defaults.

use super::address::{Address, Place};
use crate::Result;
use crate::error::config;
use crate::net::{Certificates, connections, duration, pairs, read_password, split, verifies, word};
use crate::sql::identifier;
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

/// How locks are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Lease,
    Row,
    Advisory,
    ShedLock,
}

/// A table of the user's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    /// May begin with a schema.
    pub(super) name: String,
    /// Says which row a name stands for.
    pub(super) column: String,
}

impl Table {
    /// As it stands in a statement.
    pub(super) fn quoted(&self) -> String {
        self.name.split('.').map(|part| format!("\"{part}\"")).collect::<Vec<_>>().join(".")
    }
}

/// A session that is silent for less could be that of a busy client.
const MIN_SESSION_TIMEOUT: Duration = Duration::from_millis(400);

impl Options {
    fn new() -> Self {
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
        self.table.as_ref().map_or_else(|| "\"shedlock\"".into(), Table::quoted)
    }

    /// The table without which there is no lock, as it stands in a statement, and as it is told.
    pub(super) fn needed(&self) -> (String, String) {
        match (self.mode, &self.table) {
            (Mode::ShedLock, table) => {
                let name = table.as_ref().map_or("shedlock", |table| &table.name);
                (self.shedlock(), format!("there is no table {name}"))
            }
            _ => {
                let name = format!("{}_lock", self.prefix);
                (
                    format!("{}_lock", self.qualified()),
                    format!("there is no table {name} in the schema {}", self.schema),
                )
            }
        }
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

impl Options {
    fn set(&mut self, key: &str, value: String) -> Result<()> {
        match key {
            "mode" => self.mode = mode(&value)?,
            "session_timeout" => self.session_timeout = duration(key, &value)?,
            "table" => self.table().name = qualified(key, &value)?,
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
        self.table.get_or_insert(Table { name: String::new(), column: String::new() })
    }

    /// Refuses options that contradict each other.
    pub(super) fn check(&self) -> Result<()> {
        match &self.table {
            Some(table) if self.mode == Mode::ShedLock && !table.column.is_empty() => {
                Err(config("mode=shedlock has columns of its own; leave out column="))
            }
            Some(_) if self.mode == Mode::ShedLock => Ok(()),
            Some(_) if self.mode != Mode::Row => Err(config("table= and column= need mode=row")),
            Some(table) if table.name.is_empty() || table.column.is_empty() => {
                Err(config("table= and column= need each other: the column says which row a name stands for"))
            }
            _ if self.session_timeout < MIN_SESSION_TIMEOUT => {
                Err(config(format!("session_timeout= must be at least {MIN_SESSION_TIMEOUT:?}")))
            }
            _ => Ok(()),
        }
    }
}

fn mode(value: &str) -> Result<Mode> {
    match value {
        "lease" => Ok(Mode::Lease),
        "row" => Ok(Mode::Row),
        "advisory" => Ok(Mode::Advisory),
        "shedlock" => Ok(Mode::ShedLock),
        _ => Err(config(format!("unknown mode={value}; the modes are lease, row, advisory and shedlock"))),
    }
}

/// A name that may begin with a schema.
fn qualified(key: &str, value: &str) -> Result<String> {
    let parts: Vec<_> =
        value.splitn(2, '.').map(|part| identifier(key, part.to_owned())).collect::<Result<_>>()?;
    Ok(parts.join("."))
}

const NAMES: &str = "mode, schema, prefix, table, column, session_timeout, connections, connect_timeout, timeout, client_name, host, sslmode, ca, cert, key, password_file";

#[cfg(test)]
mod tests;

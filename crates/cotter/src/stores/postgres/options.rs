//! The options of a store, and their defaults.

use super::address::{Address, ConnectParams};
use super::aliases::meaning;
use crate::Result;
use crate::error::config;
use crate::stores::shared::net::{Certificates, Password, in_our_words, pairs, split, verifies};
use crate::stores::shared::sql::{self, Mode, identifier};

/// The options of a store.
#[derive(Debug, Clone)]
pub(super) struct Options {
    /// Those of every database.
    pub(super) common: sql::Options,
    /// The schema of the tables and functions, if it was named.
    pub(super) schema: Option<String>,
}

impl Options {
    pub(super) fn new() -> Self {
        Self { common: sql::Options::default(), schema: None }
    }

    /// The schema of the tables and functions.
    pub(super) fn schema(&self) -> &str {
        self.schema.as_deref().unwrap_or("public")
    }

    /// The schema of ShedLock's table. If none is named, the server looks for it where it does for ShedLock: in the `search_path`
    /// of the role.
    pub(super) fn shedlock_schema(&self) -> Option<&str> {
        self.schema.as_deref().filter(|_| !self.common.shedlock_name().contains('.'))
    }

    /// ShedLock's table, as it is written in a statement.
    pub(super) fn shedlock(&self) -> String {
        let table = self.common.shedlock('"');
        self.shedlock_schema().map_or_else(|| table.clone(), |schema| format!("\"{schema}\".{table}"))
    }

    /// A statement that writes, as far as anything in between can tell, and changes nothing.
    pub(super) fn write_nothing(&self) -> String {
        match self.common.mode {
            Mode::ShedLock => {
                format!("update {} set lock_until = lock_until where false", self.shedlock())
            }
            _ => format!("update {}_session set turns = turns where false", self.qualified()),
        }
    }

    /// The table without which there is no lock, as it is written in a statement, and the message if it is missing.
    pub(super) fn needed(&self) -> (String, String) {
        if self.common.mode == Mode::ShedLock {
            return (self.shedlock(), self.no_shedlock());
        }
        let name = format!("{}_lock", self.common.prefix);
        (
            format!("{}_lock", self.qualified()),
            format!("there is no table {name} in the schema {}", self.schema()),
        )
    }

    fn no_shedlock(&self) -> String {
        let name = self.common.shedlock_name();
        match self.shedlock_schema() {
            Some(schema) => format!("there is no table {name} in the schema {schema}"),
            None if name.contains('.') => format!("there is no table {name}"),
            None => format!(
                "there is no table {name} in the search_path of this role; if it is in another schema, name that with schema="
            ),
        }
    }

    /// The beginning of the names of tables and functions in statements.
    pub(super) fn qualified(&self) -> String {
        format!("\"{}\".{}", self.schema(), self.common.prefix)
    }

    fn set(&mut self, key: &str, value: String) -> Result<()> {
        match key {
            "schema" => self.schema = Some(identifier(key, value)?),
            _ => self.common.set(key, value, NAMES)?,
        }
        Ok(())
    }
}

/// Parses a URL, and reads the files that it names.
pub(super) fn parse(url: &str) -> Result<(ConnectParams, Options)> {
    let (scheme, rest, query) = split(url)?;
    let query = in_our_words(url, query, meaning)?;
    let mut address = Address::parse(scheme, rest)?;
    let mut certificates = Certificates::default();
    let mut options = Options::new();
    for pair in pairs(&query) {
        let (key, value) = pair?;
        match key {
            "host" => address.socket(&value)?,
            "port" => address.set_port(&value)?,
            "user" => address.user = value,
            "dbname" => address.database = value,
            "options" => address.options = Some(value),
            "channel_binding" => address.needs_tls |= value == "require",
            "sslmode" => address.tls = Some(verifies(key, &value)?),
            "ca" | "cert" | "key" => certificates.read(key, &value)?,
            "password_file" => address.password = Some(Password::in_file(&value)?),
            _ => options.set(key, value)?,
        }
    }
    options.common.check()?;
    address.complete();
    options.common.instance = address.instance();
    Ok((address.connect_params(&certificates, &options)?, options))
}

/// Changes options as the query of a URL does, but for those that are about the connection.
pub(super) fn change(query: &str, params: &mut ConnectParams, options: &mut Options) -> Result<()> {
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
    options.common.check()?;
    if !certificates.is_empty() {
        params.set_tls(&certificates, "ca=, cert= and key= need TLS")?;
    }
    Ok(())
}

const NAMES: &str = "mode, schema, prefix, table, column, session_timeout, connections, connect_timeout, timeout, client_name, host, sslmode, ca, cert, key, password_file";

#[cfg(test)]
mod tests;

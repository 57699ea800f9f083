//! The options of a store, and their defaults.

use super::address::{Address, Place};
use crate::Result;
use crate::error::config;
use crate::net::{Certificates, duration, pairs, read, read_password, word};
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
}

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
        }
    }

    /// How statements begin the names of tables and functions.
    pub(super) fn qualified(&self) -> String {
        format!("\"{}\".{}", self.schema, self.prefix)
    }
}

/// Parses a URL, and reads the files that it names.
pub(super) fn parse(url: &str) -> Result<(Place, Options)> {
    let Some((scheme, rest)) = url.split_once(':') else {
        return Err(config("the store URL has no scheme"));
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut address = Address::parse(scheme, rest)?;
    let mut certificates = Certificates::default();
    let mut options = Options::new();
    for pair in pairs(query) {
        let (key, value) = pair?;
        match key {
            "host" => address.socket(&value)?,
            "sslmode" => address.set_tls(&value)?,
            "ca" => certificates.ca = Some(read(key, &value)?),
            "cert" => certificates.cert = Some(read(key, &value)?),
            "key" => certificates.key = Some(read(key, &value)?),
            "password_file" => address.password = Some(read_password(&value)?),
            _ => options.set(key, value)?,
        }
    }
    options.instance = address.instance();
    Ok((address.place(&certificates, &options)?, options))
}

impl Options {
    fn set(&mut self, key: &str, value: String) -> Result<()> {
        match key {
            "mode" if value == "lease" => {}
            "mode" => return Err(config(format!("unknown mode={value}; the mode is lease"))),
            "schema" => self.schema = identifier(key, value)?,
            "prefix" => self.prefix = identifier(key, value)?,
            "connect_timeout" => self.connect_timeout = duration(key, &value)?,
            "timeout" => self.timeout = duration(key, &value)?,
            "connections" => self.connections = connections(&value)?,
            "client_name" => self.client_name = word(key, value)?,
            _ => return Err(config(format!("unknown option {key:?}; the options are {NAMES}"))),
        }
        Ok(())
    }
}

fn connections(value: &str) -> Result<usize> {
    let count = value.parse().ok().filter(|count| (1..=64).contains(count));
    count.ok_or_else(|| config("connections= must be a number from 1 to 64"))
}

const NAMES: &str = "mode, schema, prefix, connections, connect_timeout, timeout, client_name, host, sslmode, ca, cert, key, password_file";

#[cfg(test)]
mod tests;

//! What a URL says, and what holds when it says nothing.

use super::address::{Address, database, decode};
use super::socket::Server;
use super::tls::Certificates;
use crate::Result;
use crate::error::config;
use std::time::Duration;

/// The protocol that is spoken.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// cotter's own: fenced, in order of arrival, handed over with one message.
    #[default]
    Native,
    /// `SET name value NX PX`, compare-and-delete. The name is the key as it stands. Excludes, and is excluded by,
    /// everybody who speaks it. No order; who waits polls. Tokens come from this client: they order only its own
    /// grants.
    Plain,
    /// `SETNX` and `GETSET` of an expiry in milliseconds of the *client's* clock, to live beside code that does so.
    /// The name is the key as it stands. Its flaws cannot be mended from one side:
    ///
    /// 1. The expiry is written and judged by the clocks of the clients: where they differ, a lock is taken too early.
    /// 2. Who loses the race for an expired lock has already overwritten the winner's expiry.
    /// 3. The value does not say whose it is, so a late release by hand frees somebody else's lock. (cotter releases and
    ///    renews only what it has written itself.)
    ///
    /// Each client says so once, as a `tracing` warning.
    GetSet,
}

/// How to speak to a server.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) mode: Mode,
    pub(super) instance: String,
    pub(super) prefix: String,
    pub(super) retain: Duration,
    pub(super) retry: Option<Duration>,
    pub(super) connect_timeout: Duration,
    pub(super) timeout: Duration,
    pub(super) client_name: String,
    pub(super) request_id: Option<String>,
}

impl Options {
    pub(super) fn new(instance: String) -> Self {
        Self {
            mode: Mode::Native,
            instance,
            prefix: "cotter".into(),
            retain: Duration::from_secs(60),
            retry: None,
            connect_timeout: Duration::from_secs(2),
            timeout: Duration::from_secs(2),
            client_name: "cotter".into(),
            request_id: None,
        }
    }
}

/// Takes a URL apart. Reads the files that it names.
pub(super) fn parse(url: &str) -> Result<(Server, Options)> {
    let Some((scheme, rest)) = url.split_once(':') else {
        return Err(config("the store URL has no scheme"));
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut address = Address::parse(scheme, rest)?;
    let mut certificates = Certificates::default();
    let mut options = Options::new(String::new());
    for pair in query.split('&').filter(|p| !p.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decode(&format!("option {key:?}"), value)?;
        match key {
            "ca" => certificates.ca = Some(read(key, &value)?),
            "cert" => certificates.cert = Some(read(key, &value)?),
            "key" => certificates.key = Some(read(key, &value)?),
            "password_file" => address.password = Some(password(read(key, &value)?)?),
            "db" if scheme == "unix" => address.db = database(&value)?,
            _ => options.set(key, value)?,
        }
    }
    if options.request_id.is_some() && options.mode != Mode::Plain {
        return Err(config("request_id= is for mode=plain only"));
    }
    if !address.tls && !certificates.is_empty() {
        return Err(config("ca=, cert= and key= are for rediss: only"));
    }
    options.instance = address.instance();
    Ok((address.server(&certificates)?, options))
}

impl Options {
    fn set(&mut self, key: &str, value: String) -> Result<()> {
        match key {
            "mode" => self.mode = mode(&value)?,
            "prefix" => self.prefix = word(key, value)?,
            "retain" => self.retain = duration(key, &value)?,
            "retry" => self.retry = Some(duration(key, &value)?),
            "connect_timeout" => self.connect_timeout = duration(key, &value)?,
            "timeout" => self.timeout = duration(key, &value)?,
            "client_name" => self.client_name = word(key, value)?,
            "request_id" => self.request_id = Some(word(key, value)?),
            _ => return Err(config(format!("the option {key:?} is not known; {KNOWN}"))),
        }
        Ok(())
    }
}

const KNOWN: &str = "there are mode, prefix, retain, retry, connect_timeout, timeout, ca, cert, key, client_name, \
    request_id, password_file";

fn mode(value: &str) -> Result<Mode> {
    match value {
        "native" => Ok(Mode::Native),
        "plain" => Ok(Mode::Plain),
        "getset" => Ok(Mode::GetSet),
        _ => Err(config(format!("mode={value} is not known; there are native, plain and getset"))),
    }
}

/// A prefix with braces would move the hash tag, and a blank would end a field of a message.
fn word(key: &str, value: String) -> Result<String> {
    let bad = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '{' | '}' | '%');
    if value.is_empty() || value.len() > 128 || value.contains(bad) {
        return Err(config(format!(
            "{key}= takes 1 to 128 bytes without blanks, braces, percent or control characters"
        )));
    }
    Ok(value)
}

/// `250ms`, `2s`, `10m`, `1h`, `3d`; never zero.
fn duration(key: &str, value: &str) -> Result<Duration> {
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = value.split_at(digits);
    let millis = match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000_u64),
        _ => None,
    };
    let millis = millis.zip(number.parse::<u64>().ok()).and_then(|(unit, number)| number.checked_mul(unit));
    millis
        .filter(|ms| (1..=LONGEST).contains(ms))
        .map(Duration::from_millis)
        .ok_or_else(|| config(format!("{key}= takes a time like 250ms, 2s, 10m, 1h or 3d")))
}

/// A year, in milliseconds.
const LONGEST: u64 = 365 * 86_400_000;

fn read(key: &str, path: &str) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| config(format!("{path:?} of {key}= cannot be read: {e}")).with_source(e))
}

fn password(bytes: Vec<u8>) -> Result<String> {
    let text = String::from_utf8(bytes).map_err(|_| config("the file of password_file= is not UTF-8"))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(test)]
mod tests;

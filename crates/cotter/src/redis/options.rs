//! The options of a store, and their defaults.

use super::address::{Address, database, decode};
use super::socket::Server;
use super::tls::Certificates;
use crate::Result;
use crate::error::config;
use std::time::Duration;

/// The protocol of a store; the option `mode=` of its URL.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// cotter's own protocol (`mode=native`): with fencing tokens, in order of arrival, handed over with one message.
    #[default]
    Native,
    /// `SET name value NX PX` and compare-and-delete (`mode=plain`), as most hand-written code and small libraries do it.
    /// The name of the lock is the key, unchanged. It excludes, and is excluded by, everybody else who uses this protocol.
    ///
    /// There is no queue: waiters poll. Tokens are made by the client and order only the grants of this process.
    Plain,
    /// `SETNX` and `GETSET` of an expiry in milliseconds of the *client's* clock (`mode=getset`), for use beside code that
    /// does the same. The name of the lock is the key, unchanged. The protocol has flaws that one side cannot mend:
    ///
    /// 1. The clients' clocks decide whether a lock has expired. Where they differ, a lock is taken too early.
    /// 2. A client that loses the race for an expired lock has already overwritten the winner's expiry.
    /// 3. The value does not say who wrote it, so other code that releases late frees somebody else's lock. (cotter
    ///    releases and renews only what it has written itself.)
    ///
    /// Each client logs them once, as a `tracing` warning.
    GetSet,
}

/// The options of a store.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) protocol: Protocol,
    pub(super) instance: String,
    pub(super) prefix: String,
    pub(super) retain: Duration,
    pub(super) retry: Option<Duration>,
    pub(super) connect_timeout: Duration,
    pub(super) timeout: Duration,
    pub(super) client_name: String,
    pub(super) request_id: Option<String>,
    /// The number of replicas that must acknowledge each write.
    pub(super) replicas: u32,
}

impl Options {
    pub(super) fn new(instance: String) -> Self {
        Self {
            protocol: Protocol::Native,
            instance,
            prefix: "cotter".into(),
            retain: Duration::from_secs(60),
            retry: None,
            connect_timeout: Duration::from_secs(2),
            timeout: Duration::from_secs(2),
            client_name: "cotter".into(),
            request_id: None,
            replicas: 0,
        }
    }
}

/// Parses a URL, and reads the files that it names.
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
    if options.request_id.is_some() && options.protocol != Protocol::Plain {
        return Err(config("request_id= needs mode=plain"));
    }
    if !address.tls && !certificates.is_empty() {
        return Err(config("ca=, cert= and key= need a URL that begins with rediss:"));
    }
    options.instance = address.instance();
    Ok((address.server(&certificates)?, options))
}

impl Options {
    fn set(&mut self, key: &str, value: String) -> Result<()> {
        match key {
            "mode" => self.protocol = protocol(&value)?,
            "prefix" => self.prefix = word(key, value)?,
            "retain" => self.retain = duration(key, &value)?,
            "retry" => self.retry = Some(duration(key, &value)?),
            "connect_timeout" => self.connect_timeout = duration(key, &value)?,
            "timeout" => self.timeout = duration(key, &value)?,
            "client_name" => self.client_name = word(key, value)?,
            "request_id" => self.request_id = Some(word(key, value)?),
            "replicas" => self.replicas = replicas(&value)?,
            _ => return Err(config(format!("unknown option {key:?}; the options are {NAMES}"))),
        }
        Ok(())
    }
}

const NAMES: &str = "mode, prefix, retain, retry, connect_timeout, timeout, ca, cert, key, client_name, \
    request_id, replicas, password_file";

fn protocol(value: &str) -> Result<Protocol> {
    match value {
        "native" => Ok(Protocol::Native),
        "plain" => Ok(Protocol::Plain),
        "getset" => Ok(Protocol::GetSet),
        _ => Err(config(format!("unknown mode={value}; the modes are native, plain and getset"))),
    }
}

fn replicas(value: &str) -> Result<u32> {
    let why = "replicas= must be the number of replicas that acknowledge each write, such as 1";
    value.parse().map_err(|_| config(why))
}

/// Checks a value that becomes part of a key or a message. Braces would change the hash tag, a blank would end a field.
pub(super) fn word(key: &str, value: String) -> Result<String> {
    let bad = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '{' | '}' | '%');
    if value.is_empty() || value.len() > 128 || value.contains(bad) {
        return Err(config(format!(
            "{key}= must be 1 to 128 bytes without blanks, braces, percent signs or control characters"
        )));
    }
    Ok(value)
}

/// Parses a duration such as `250ms`, `2s`, `10m`, `1h` or `3d`. Zero is refused.
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
    millis.filter(|ms| (1..=MAX_MILLIS).contains(ms)).map(Duration::from_millis).ok_or_else(|| {
        config(format!("{key}= must be a duration such as 250ms, 2s, 10m, 1h or 3d, and at most a year"))
    })
}

/// Limits a duration to the range that a URL may contain.
pub(super) fn clamp(duration: Duration) -> Duration {
    duration.clamp(Duration::from_millis(1), Duration::from_millis(MAX_MILLIS))
}

/// A year in milliseconds.
const MAX_MILLIS: u64 = 365 * 86_400_000;

fn read(key: &str, path: &str) -> Result<Vec<u8>> {
    std::fs::read(path)
        .map_err(|e| config(format!("cannot read {path:?}, the file of {key}=: {e}")).with_source(e))
}

fn password(bytes: Vec<u8>) -> Result<String> {
    let text = String::from_utf8(bytes).map_err(|_| config("the file of password_file= is not UTF-8"))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(test)]
mod tests;

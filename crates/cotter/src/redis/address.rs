//! The address of a server, from a URL.

use super::socket::{Endpoint, Server};
use super::tls::Certificates;
use crate::Result;
use crate::error::config;
use redis::{ConnectionAddr, RedisConnectionInfo};
use std::path::PathBuf;

/// The parts of a URL before its query.
#[derive(Default)]
pub(super) struct Address {
    pub(super) tls: bool,
    /// `None` for a Unix socket at `path`.
    host: Option<(String, u16)>,
    path: PathBuf,
    user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) db: i64,
}

const PORT: u16 = 6379;

impl Address {
    /// Parses `scheme:rest`. `rest` has no query any more.
    pub(super) fn parse(scheme: &str, rest: &str) -> Result<Self> {
        let Some(rest) = rest.strip_prefix("//") else {
            return Err(config(format!("{scheme}: must be followed by //")));
        };
        if scheme == "unix" {
            return Self::socket(rest);
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (credentials, host) = match authority.rsplit_once('@') {
            Some((credentials, host)) => (Some(credentials), host),
            None => (None, authority),
        };
        let mut address =
            Self { tls: scheme == "rediss", host: Some(host_and_port(host)?), ..Self::default() };
        address.db = database(path)?;
        if let Some(credentials) = credentials {
            let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
            address.user = non_empty(decode("user", user)?);
            address.password = non_empty(decode("password", password)?);
        }
        Ok(address)
    }

    fn socket(path: &str) -> Result<Self> {
        let path = PathBuf::from(decode("path", path)?);
        if !path.is_absolute() {
            return Err(config("unix: must be followed by three slashes and the absolute path of a socket"));
        }
        Ok(Self { path, ..Self::default() })
    }

    /// The endpoint and the credentials. Nothing is sent.
    pub(super) fn server(&self, certificates: &Certificates) -> Result<Server> {
        let endpoint = match &self.host {
            None => Endpoint::Unix(self.path.clone()),
            Some((host, port)) if self.tls => Endpoint::Tls(host.clone(), *port, certificates.config()?),
            Some((host, port)) => Endpoint::Tcp(host.clone(), *port),
        };
        let mut login = RedisConnectionInfo::default().set_db(self.db);
        if let Some(user) = &self.user {
            login = login.set_username(user);
        }
        if let Some(password) = &self.password {
            login = login.set_password(password);
        }
        Ok(Server { endpoint, login: login.set_skip_set_lib_name() })
    }

    pub(super) fn instance(&self) -> String {
        let Self { host, path, db, .. } = self;
        let db = if *db == 0 { String::new() } else { format!("/{db}") };
        match host {
            Some((host, port)) if host.contains(':') => format!("[{host}]:{port}{db}"),
            Some((host, port)) => format!("{host}:{port}{db}"),
            None => format!("{}{db}", path.display()),
        }
    }
}

/// The address of a client of the `redis` crate in readable form, without credentials.
pub(super) fn instance(client: &redis::Client) -> String {
    let info = client.get_connection_info();
    let (path, host) = match info.addr() {
        ConnectionAddr::Unix(path) => (path.clone(), None),
        ConnectionAddr::Tcp(host, port) => (PathBuf::new(), Some((host.clone(), *port))),
        ConnectionAddr::TcpTls { host, port, .. } => (PathBuf::new(), Some((host.clone(), *port))),
        other => return other.to_string(),
    };
    Address { host, path, db: info.redis_settings().db(), ..Address::default() }.instance()
}

fn host_and_port(text: &str) -> Result<(String, u16)> {
    let (host, port) = match text.strip_prefix('[').and_then(|t| t.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.is_empty() {
        return Err(config("the URL names no host"));
    }
    let port = port.map_or(Ok(PORT), |p| {
        p.parse().map_err(|_| config("the port in the URL is not a number up to 65535"))
    })?;
    Ok((decode("host", host)?, port))
}

pub(super) fn database(text: &str) -> Result<i64> {
    if text.is_empty() {
        return Ok(0);
    }
    let db = text.parse().ok().filter(|db| (0..=1_000_000).contains(db));
    db.ok_or_else(|| config("the database number in the URL is not a number up to 1000000"))
}

fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// Percent-decodes a part of a URL. The error names the part, but never quotes it.
pub(super) fn decode(part: &str, text: &str) -> Result<String> {
    let wrong = || config(format!("the {part} in the URL is not percent-encoded UTF-8"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let hex = rest.get(..2).and_then(|h| std::str::from_utf8(h).ok()).ok_or_else(wrong)?;
        bytes.push(u8::from_str_radix(hex, 16).map_err(|_| wrong())?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

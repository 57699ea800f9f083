//! The options of a store, and their defaults.

use super::connector::Cluster;
use crate::Result;
use crate::error::config;
use crate::stores::shared::net::{
    Certificates, Password, Url, duration, pairs, readable, split, word, yes_or_no,
};
use rustls::ClientConfig;
use std::sync::Arc;
use std::time::Duration;

/// Where the entries of a lock are; the option `dialect=` of a URL.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// Below cotter's own prefix (`dialect=own`).
    #[default]
    Own,
    /// `NAME/…` (`dialect=concurrency`), as etcd's Go package `concurrency`, `etcdctl lock` and `etcdctl elect` write
    /// them. It excludes, and is excluded by, all others that do the same.
    ///
    /// The name of the lock is the beginning of the keys, unchanged. Anything that is written below `NAME/` therefore
    /// counts as a holder or waiter, including the lock `NAME/other`.
    Concurrency,
}

impl Dialect {
    /// The name of a store with this dialect in errors.
    pub(super) const fn variant(self) -> &'static str {
        match self {
            Self::Own => "etcd",
            Self::Concurrency => "etcd with dialect=concurrency",
        }
    }
}

/// The options of a store.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) instance: String,
    pub(super) prefix: String,
    pub(super) dialect: Dialect,
    pub(super) connect_timeout: Duration,
    pub(super) timeout: Duration,
}

const PORT: u16 = 2379;
const NAMES: &str = "dialect, prefix, connect_timeout, timeout, tls, ca, cert, key, password_file";

/// Parses a URL, and reads the files that it names.
pub(super) fn parse(url: &str) -> Result<(Cluster, Options)> {
    let (scheme, rest, query) = split(url)?;
    let Url { user, password, hosts, path } = Url::parse(scheme, rest, PORT)?;
    if !path.is_empty() {
        return Err(config("an etcd URL has no path; set the prefix of the keys with prefix="));
    }
    let mut options = Options {
        instance: readable(&hosts),
        prefix: "cotter".into(),
        dialect: Dialect::Own,
        connect_timeout: Duration::from_secs(2),
        timeout: Duration::from_secs(2),
    };
    let password = password.map(Password::given);
    let mut cluster = Cluster { hosts, user, password, tls: None };
    let (mut certificates, mut tls) = (Certificates::default(), None);
    for pair in pairs(query) {
        let (key, value) = pair?;
        match key {
            "tls" => tls = Some(yes_or_no(key, &value)?),
            "ca" | "cert" | "key" => certificates.read(key, &value)?,
            "password_file" => cluster.password = Some(Password::in_file(&value)?),
            _ => options.set(key, value)?,
        }
    }
    if cluster.password.is_some() && cluster.user.is_none() {
        return Err(config("the URL has a password but no user name"));
    }
    match (tls, certificates.is_empty()) {
        (Some(false), false) => return Err(config("ca=, cert= and key= require TLS; remove tls=no")),
        (Some(true), _) | (_, false) => cluster.tls = Some(http2(&certificates)?),
        _ => {}
    }
    Ok((cluster, options))
}

impl Options {
    fn set(&mut self, key: &str, value: String) -> Result<()> {
        match key {
            "dialect" => self.dialect = dialect(&value)?,
            "prefix" => self.prefix = word(key, value)?,
            "connect_timeout" => self.connect_timeout = duration(key, &value)?,
            "timeout" => self.timeout = duration(key, &value)?,
            _ => return Err(config(format!("unknown option {key:?}; the options are {NAMES}"))),
        }
        Ok(())
    }
}

/// The server asks which protocol is spoken over TLS.
pub(super) fn http2(certificates: &Certificates) -> Result<Arc<ClientConfig>> {
    let mut config = ClientConfig::clone(&*certificates.config()?);
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}

fn dialect(value: &str) -> Result<Dialect> {
    match value {
        "own" => Ok(Dialect::Own),
        "concurrency" => Ok(Dialect::Concurrency),
        _ => Err(config(format!("unknown dialect={value}; the dialects are own and concurrency"))),
    }
}

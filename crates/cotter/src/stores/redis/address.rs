//! The address of a server, from a URL.

use super::socket::{Endpoint, Server};
use crate::Result;
use crate::error::config;
use crate::stores::shared::net::{Certificates, ENCODE, HostPort, Password, Url, decode};
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
    pub(super) password: Option<Password>,
    pub(super) db: i64,
}

const PORT: u16 = 6379;

impl Address {
    /// Parses `scheme:rest`. `rest` has no query any more.
    pub(super) fn parse(scheme: &str, rest: &str) -> Result<Self> {
        if scheme == "unix" {
            return Self::socket(rest);
        }
        let Url { user, password, mut hosts, path } = Url::parse(scheme, rest, PORT)?;
        if hosts.len() > 1 {
            return Err(config("the URL names more than one host"));
        }
        let db = database(path)?;
        Ok(Self {
            tls: scheme == "rediss",
            host: hosts.pop(),
            user,
            password: password.map(Password::given),
            db,
            ..Self::default()
        })
    }

    fn socket(rest: &str) -> Result<Self> {
        let path = rest.strip_prefix("//").ok_or_else(|| config("unix: must be followed by //"))?;
        let path = PathBuf::from(decode("path", path)?);
        if !path.is_absolute() {
            return Err(config("unix: must be followed by three slashes and the absolute path of a socket"));
        }
        Ok(Self { path, ..Self::default() })
    }

    /// Refuses a user who cannot log in. What is taken for one may be the password, and is not repeated.
    pub(super) fn check_login(&self) -> Result<()> {
        match self.user.is_some() && self.password.is_none() {
            true => Err(config(
                "the URL has a user and no password; a password without a user is written with a colon in front, :PASSWORD@HOST",
            )),
            false => Ok(()),
        }
    }

    /// The endpoint and the credentials. Nothing is sent.
    pub(super) fn server(&self, certificates: &Certificates) -> Result<Server> {
        let endpoint = match &self.host {
            None => Endpoint::Unix(self.path.clone()),
            Some((host, port)) if self.tls => {
                Endpoint::Tls(HostPort::new(host, *port), certificates.config()?)
            }
            Some((host, port)) => Endpoint::Tcp(HostPort::new(host, *port)),
        };
        let mut login = RedisConnectionInfo::default().set_db(self.db);
        if let Some(user) = &self.user {
            login = login.set_username(user);
        }
        if let Some(password) = &self.password {
            login = login.set_password(password.last());
        }
        Ok(Server { endpoint, login: login.set_skip_set_lib_name(), password: self.password.clone() })
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

pub(super) fn database(text: &str) -> Result<i64> {
    if text.is_empty() {
        return Ok(0);
    }
    let db = text.parse().ok().filter(|db| (0..=1_000_000).contains(db));
    // A host behind a slash that belongs to the password.
    let hint = if text.contains('@') { ENCODE } else { "" };
    db.ok_or_else(|| config(format!("the database number in the URL is not a number up to 1000000{hint}")))
}

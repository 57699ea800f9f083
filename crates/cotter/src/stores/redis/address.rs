//! The address of a server, from a URL.

use super::announced::Announced;
use super::cluster::Seeds;
use super::sentinel::Sentinels;
use super::socket::{Endpoint, Server};
use crate::Result;
use crate::error::config;
use crate::stores::shared::net::{Certificates, ENCODE, HostPort, Password, Url, decode, readable};
use redis::{ConnectionAddr, RedisConnectionInfo};
use std::path::PathBuf;
use std::sync::Arc;

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
    /// Instead of a host.
    pub(super) service: Option<Service>,
    /// Nodes of a cluster, instead of a host.
    pub(super) seeds: Vec<(String, u16)>,
    /// Where to connect to what the nodes or the sentinels name.
    pub(super) announced: Announced,
}

/// A service, and the sentinels that know its master.
pub(super) struct Service {
    name: String,
    sentinels: Vec<(String, u16)>,
    pub(super) user: Option<String>,
    pub(super) password: Option<Password>,
}

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

impl Address {
    /// Parses `scheme:rest`. `rest` has no query any more.
    pub(super) fn parse(scheme: &str, rest: &str) -> Result<Self> {
        if scheme == "unix" {
            return Self::socket(rest);
        }
        let has_sentinels = scheme.ends_with("+sentinel");
        let port = if has_sentinels { SENTINEL_PORT } else { PORT };
        let Url { user, password, mut hosts, path } = Url::parse(scheme, rest, port)?;
        let tls = scheme.starts_with("rediss");
        let login = Self { tls, user, password: password.map(Password::given), ..Self::default() };
        if has_sentinels {
            let (name, path) = path.split_once('/').unwrap_or((path, ""));
            let service = Some(Service::new(decode("service", name)?, hosts, scheme)?);
            return Ok(Self { service, db: database(path)?, ..login });
        }
        if scheme.ends_with("+cluster") {
            if database(path)? != 0 {
                return Err(config("a cluster has no databases but 0: leave the number out of the URL"));
            }
            return Ok(Self { seeds: hosts, ..login });
        }
        if hosts.len() > 1 {
            return Err(config(
                "the URL names more than one host; with sentinels, it begins with redis+sentinel:, with nodes of a cluster, with \
                 redis+cluster:",
            ));
        }
        Ok(Self { host: hosts.pop(), db: database(path)?, ..login })
    }

    fn socket(rest: &str) -> Result<Self> {
        let path = rest.strip_prefix("//").ok_or_else(|| config("unix: must be followed by //"))?;
        let path = PathBuf::from(decode("path", path)?);
        if !path.is_absolute() {
            return Err(config("unix: must be followed by three slashes and the absolute path of a socket"));
        }
        Ok(Self { path, ..Self::default() })
    }

    /// Refuses addresses that nobody would announce.
    pub(super) fn check_announced(&self) -> Result<()> {
        match self.announced.is_empty() || self.service.is_some() || !self.seeds.is_empty() {
            true => Ok(()),
            false => Err(config(
                "announce= is for a cluster or a master behind sentinels: write redis+cluster:, redis+sentinel: (rediss+… with TLS), or \
                 the address of the server itself before the options",
            )),
        }
    }

    /// The endpoint and the credentials. Nothing is sent.
    pub(super) fn server(&self, certificates: &Certificates) -> Result<Server> {
        let tls = if self.tls { Some(certificates.config()?) } else { None };
        let at = |(host, port): &(String, u16)| match &tls {
            Some(tls) => Endpoint::Tls(HostPort::new(host, *port), tls.clone()),
            None => Endpoint::Tcp(HostPort::new(host, *port)),
        };
        let endpoint = match (&self.host, &self.service) {
            (Some(host), _) => at(host),
            (None, None) if !self.seeds.is_empty() => {
                let seeds = self.seeds.iter().map(|(host, port)| HostPort::new(host, *port)).collect();
                Endpoint::Cluster(Arc::new(Seeds::new(seeds, tls.clone(), self.announced.clone())))
            }
            (None, None) => Endpoint::Unix(self.path.clone()),
            (None, Some(Service { name, sentinels, user, password })) => {
                let sentinel = |host| login(at(host), user.as_deref(), password.as_ref(), 0);
                let each = sentinels.iter().map(sentinel).collect();
                Endpoint::Service(Arc::new(Sentinels::new(
                    each,
                    name.clone(),
                    tls.clone(),
                    self.announced.clone(),
                )))
            }
        };
        Ok(login(endpoint, self.user.as_deref(), self.password.as_ref(), self.db))
    }

    pub(super) fn instance(&self) -> String {
        let Self { host, path, db, .. } = self;
        let db = if *db == 0 { String::new() } else { format!("/{db}") };
        if let Some(Service { name, sentinels, .. }) = &self.service {
            // The same service, in whatever order its sentinels are named.
            let mut sentinels = sentinels.clone();
            sentinels.sort();
            return format!("{}/{name}{db}", readable(&sentinels));
        }
        if !self.seeds.is_empty() {
            // The same cluster, in whatever order its nodes are named.
            let mut seeds = self.seeds.clone();
            seeds.sort();
            return format!("the cluster of {}", readable(&seeds));
        }
        match host {
            Some((host, port)) if host.contains(':') => format!("[{host}]:{port}{db}"),
            Some((host, port)) => format!("{host}:{port}{db}"),
            None => format!("{}{db}", path.display()),
        }
    }
}

impl Service {
    fn new(name: String, sentinels: Vec<(String, u16)>, scheme: &str) -> Result<Self> {
        if name.is_empty() {
            return Err(config(format!(
                "the URL names no service: write {scheme}://HOST,HOST,HOST/SERVICE with the name under which the sentinels watch the \
                 master, as `SENTINEL MASTERS` lists it"
            )));
        }
        Ok(Self { name, sentinels, user: None, password: None })
    }
}

fn login(endpoint: Endpoint, user: Option<&str>, password: Option<&Password>, db: i64) -> Server {
    let mut login = RedisConnectionInfo::default().set_db(db);
    if let Some(user) = user {
        login = login.set_username(user);
    }
    if let Some(password) = password {
        login = login.set_password(password.last());
    }
    Server {
        endpoint,
        login: login.set_skip_set_lib_name(),
        password: password.cloned(),
        lacks_password: user.is_some() && password.is_none(),
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

//! The address of a server, from a URL.

use super::options::Options;
use crate::Result;
use crate::error::config;
use crate::stores::shared::net::{self, Certificates, Password, Url, decode, is_local, readable};
use rustls::ClientConfig;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// The parts of a URL, without the options that are not about the address.
pub(super) struct Address {
    hosts: Vec<(String, u16)>,
    pub(super) user: String,
    pub(super) password: Option<Password>,
    pub(super) database: String,
    /// The value of `sslmode=`.
    pub(super) tls: Option<bool>,
    /// `channel_binding=require`: the server proves who it is. It does so by its certificate.
    pub(super) needs_tls: bool,
    /// Settings of the session, as libpq passes them on.
    pub(super) options: Option<String>,
}

/// The servers of a store, of which one takes writes, and how to log in there.
#[derive(Clone)]
pub(super) struct ConnectParams {
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) login: Config,
    /// The password of the login, if it is from a URL or a callback.
    pub(super) password: Option<Password>,
    pub(super) tls: Option<Arc<ClientConfig>>,
}

impl ConnectParams {
    /// Uses other certificates. `refused`: the error where there is no TLS.
    pub(super) fn set_tls(&mut self, certificates: &Certificates, refused: &str) -> Result<()> {
        let tls = self.tls.as_mut().ok_or_else(|| config(refused))?;
        *tls = certificates.config()?;
        Ok(())
    }
}

/// Where one server listens, or several behind one name.
#[derive(Debug, Clone)]
pub(super) enum Endpoint {
    Tcp(net::HostPort),
    Unix(PathBuf),
}

const PORT: u16 = 5432;

impl Address {
    /// Parses `scheme:rest`. `rest` has no query any more.
    pub(super) fn parse(scheme: &str, rest: &str) -> Result<Self> {
        // A host may be missing: `host=` can name the folder of a socket instead.
        let end = rest.strip_prefix("//").map_or(rest.len(), |r| 2 + r.find('/').unwrap_or(r.len()));
        let (authority, path) = rest.split_at(end);
        // Behind the credentials, if there are any. A port alone is that of a socket.
        let host = authority.strip_prefix("//").map(|a| a.rsplit_once('@').map_or(a, |(_, host)| host));
        let rest = match host.filter(|host| host.is_empty() || host.starts_with(':')) {
            Some(port) => {
                let credentials = &authority[..authority.len() - port.len()];
                format!("{credentials}localhost{port}{path}")
            }
            None => rest.to_owned(),
        };
        let url = Url::parse(scheme, &rest, PORT)?;
        let user = url.user.or_else(|| std::env::var("USER").ok()).unwrap_or_else(|| "postgres".into());
        Ok(Self {
            hosts: url.hosts,
            user,
            password: url.password.map(Password::given),
            database: decode("database", url.path)?,
            tls: None,
            needs_tls: false,
            options: None,
        })
    }

    /// The address in the settings of the driver.
    pub(super) fn of(settings: &Config) -> Result<Self> {
        if !settings.get_hostaddrs().is_empty() {
            return Err(config("hostaddr is not supported: name the servers by host"));
        }
        let ports = settings.get_ports();
        let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(PORT);
        let hosts: Vec<_> = settings
            .get_hosts()
            .iter()
            .map(readable_host)
            .enumerate()
            .map(|(at, host)| (host, port(at)))
            .collect();
        if hosts.is_empty() {
            return Err(config("the settings name no host"));
        }
        let user = settings.get_user().map(str::to_owned).or_else(|| std::env::var("USER").ok());
        let user = user.unwrap_or_else(|| "postgres".into());
        let database = settings.get_dbname().map_or_else(|| user.clone(), str::to_owned);
        let tls = match settings.get_ssl_mode() {
            SslMode::Disable => Some(false),
            SslMode::Require => Some(true),
            _ => None,
        };
        Ok(Self { hosts, user, password: None, database, tls, needs_tls: false, options: None })
    }

    /// Uses the socket in a folder.
    pub(super) fn socket(&mut self, folder: &str) -> Result<()> {
        if !folder.starts_with('/') {
            return Err(config(
                "host= must be the absolute path of a socket directory, such as /run/postgresql",
            ));
        }
        let port = self.hosts.first().map_or(PORT, |(_, port)| *port);
        self.hosts = vec![(folder.to_owned(), port)];
        Ok(())
    }

    /// The port of all hosts, or of the socket.
    pub(super) fn set_port(&mut self, port: &str) -> Result<()> {
        let port = port.parse().map_err(|_| config("port= must be a number up to 65535"))?;
        self.hosts.iter_mut().for_each(|host| host.1 = port);
        Ok(())
    }

    /// The database is that of the user, unless one is named.
    pub(super) fn complete(&mut self) {
        if self.database.is_empty() {
            self.database.clone_from(&self.user);
        }
    }

    /// The endpoints and the credentials. Nothing is sent.
    pub(super) fn connect_params(
        &self,
        certificates: &Certificates,
        options: &Options,
    ) -> Result<ConnectParams> {
        let mut login = Config::new();
        login.application_name(&options.common.client_name);
        if let Some(password) = &self.password {
            login.password(password.last());
        }
        if let Some(settings) = &self.options {
            login.options(settings);
        }
        self.connect_params_of(login, certificates)
    }

    /// The same, with whatever else these settings contain.
    pub(super) fn connect_params_of(
        &self,
        mut login: Config,
        certificates: &Certificates,
    ) -> Result<ConnectParams> {
        let endpoint = |(host, port): &(String, u16)| match host.starts_with('/') {
            true => Endpoint::Unix(socket(host, *port)),
            false => Endpoint::Tcp(net::HostPort::new(host, *port)),
        };
        let tls = self.tls.unwrap_or_else(|| !self.hosts.iter().all(|(host, _)| is_local(host)));
        if !tls && !certificates.is_empty() {
            return Err(config("ca=, cert= and key= require sslmode=verify-full"));
        }
        if !tls && self.needs_tls {
            return Err(config("channel_binding=require needs sslmode=verify-full"));
        }
        let tls = if tls { Some(certificates.config()?) } else { None };
        // TLS is negotiated before the driver gets the stream.
        login.user(&self.user).dbname(&self.database).ssl_mode(SslMode::Disable);
        let (endpoints, password) = (self.hosts.iter().map(endpoint).collect(), self.password.clone());
        Ok(ConnectParams { endpoints, login, password, tls })
    }

    /// The address in readable form, without credentials.
    pub(super) fn instance(&self) -> String {
        let hosts = match &*self.hosts {
            [(host, port)] if host.starts_with('/') => socket(host, *port).display().to_string(),
            hosts => readable(hosts),
        };
        format!("{hosts}/{}", self.database)
    }
}

fn readable_host(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(folder) => folder.display().to_string(),
    }
}

fn socket(folder: &str, port: u16) -> PathBuf {
    PathBuf::from(folder).join(format!(".s.PGSQL.{port}"))
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host) => host.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

//! The address of a server, from a URL.

use super::options::Options;
use crate::Result;
use crate::error::config;
use crate::stores::shared::net::{Certificates, Password, Url, decode, is_local, readable};
use mysql_async::{ClientIdentity, Opts, OptsBuilder, SslOpts};
use rustls::crypto::{CryptoProvider, ring};
use std::time::Duration;

/// The parts of a URL, without the options that are not about the address.
pub(super) struct Address {
    hosts: Vec<(String, u16)>,
    socket: Option<String>,
    user: String,
    pub(super) password: Option<Password>,
    database: String,
    /// The value of `sslmode=`.
    pub(super) tls: Option<bool>,
}

/// The servers of a store, of which one takes writes, and how to log in there.
#[derive(Clone)]
pub(super) struct ConnectParams {
    pub(super) servers: Vec<Opts>,
    /// The password of the login, if it is from a URL or a callback.
    pub(super) password: Option<Password>,
    /// It may be a token, which the server has to read as it is.
    pub(super) sends_tokens: bool,
}

impl ConnectParams {
    /// The same with another name of this client.
    pub(super) fn with_client_name(&self, name: &str) -> Self {
        let named = |server: &Opts| {
            OptsBuilder::from_opts(server.clone()).connect_attribute("program_name", name.to_owned()).into()
        };
        Self { servers: self.servers.iter().map(named).collect(), ..self.clone() }
    }

    /// The same with other certificates.
    pub(super) fn with_tls(&self, certificates: &Certificates) -> Result<Self> {
        if self.servers.iter().any(|server| server.ssl_opts().is_none()) {
            return Err(config("with_tls needs sslmode=verify-full in the URL, or ssl_opts in the settings"));
        }
        let tls = driver_tls(certificates.clone())?;
        let server = |server: &Opts| OptsBuilder::from_opts(server.clone()).ssl_opts(tls.clone()).into();
        Ok(Self { servers: self.servers.iter().map(server).collect(), ..self.clone() })
    }
}

const PORT: u16 = 3306;
/// A silent peer is asked after this time whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// The maximum size of a row, which has room for tens of thousands of holders.
const MAX_PACKET: usize = 16 << 20;
/// The number of prepared statements that a connection keeps.
const STATEMENTS: usize = 32;

impl Address {
    /// Parses `scheme:rest`. `rest` has no query any more.
    pub(super) fn parse(scheme: &str, rest: &str) -> Result<Self> {
        let url = Url::parse(scheme, rest, PORT)?;
        let database = decode("database", url.path)?;
        if database.is_empty() {
            return Err(config(format!("the URL names no database: {scheme}://HOST/DATABASE")));
        }
        let user = url.user.or_else(|| std::env::var("USER").ok()).unwrap_or_else(|| "root".into());
        Ok(Self {
            hosts: url.hosts,
            socket: None,
            user,
            password: url.password.map(Password::given),
            database,
            tls: None,
        })
    }

    /// The address in the settings of the driver.
    pub(super) fn of(settings: &Opts) -> Result<Self> {
        let database = settings.db_name().filter(|name| !name.is_empty());
        let database = database.ok_or_else(|| config("the settings name no database"))?.to_owned();
        let hosts = vec![(settings.ip_or_hostname().to_owned(), settings.tcp_port())];
        let (socket, user) =
            (settings.socket().map(str::to_owned), settings.user().unwrap_or_default().to_owned());
        Ok(Self { hosts, socket, user, password: None, database, tls: None })
    }

    /// Uses a socket in the file system.
    pub(super) fn set_socket(&mut self, path: String) -> Result<()> {
        if !path.starts_with('/') {
            let why = "socket= must be the absolute path of a socket, such as /run/mysqld/mysqld.sock";
            return Err(config(why));
        }
        self.socket = Some(path);
        Ok(())
    }

    /// The servers and the credentials. Nothing is sent.
    pub(super) fn connect_params(
        &self,
        certificates: Certificates,
        options: &Options,
    ) -> Result<ConnectParams> {
        let is_local = self.socket.is_some() || self.hosts.iter().all(|(host, _)| is_local(host));
        let tls = self.tls.unwrap_or(!is_local) && self.socket.is_none();
        if !tls && !certificates.is_empty() {
            return Err(config("ca=, cert= and key= require sslmode=verify-full"));
        }
        let tls = if tls { Some(driver_tls(certificates)?) } else { None };
        let login = OptsBuilder::default()
            .user(Some(&self.user))
            .pass(self.password.as_ref().map(Password::last))
            .db_name(Some(&self.database))
            .prefer_socket(false)
            .socket(self.socket.as_ref())
            .tcp_nodelay(true)
            .tcp_keepalive(Some(KEEPALIVE))
            // What is set here is not asked for when a connection is opened.
            .max_allowed_packet(Some(MAX_PACKET))
            .wait_timeout(Some(0))
            .stmt_cache_size(STATEMENTS)
            .connect_attribute("program_name", options.client_name.clone())
            .ssl_opts(tls);
        let server =
            |(host, port): &(String, u16)| login.clone().ip_or_hostname(host.clone()).tcp_port(*port).into();
        Ok(ConnectParams {
            servers: self.hosts.iter().map(server).collect(),
            password: self.password.clone(),
            sends_tokens: false,
        })
    }

    /// The address in readable form, without credentials.
    pub(super) fn instance(&self) -> String {
        let socket = self.socket.clone();
        format!("{}/{}", socket.unwrap_or_else(|| readable(&self.hosts)), self.database)
    }
}

/// The settings of an application, with those of ours that a step depends on.
pub(super) fn connect_params_of(settings: &Opts, options: &Options) -> ConnectParams {
    if settings.ssl_opts().is_some() {
        provide_crypto();
    }
    let is_named = settings.connect_attributes().is_some_and(|all| all.contains_key("program_name"));
    let login = OptsBuilder::from_opts(settings.clone())
        .prefer_socket(false)
        .tcp_nodelay(true)
        .tcp_keepalive(settings.tcp_keepalive().or(Some(KEEPALIVE)))
        .max_allowed_packet(Some(MAX_PACKET))
        .wait_timeout(Some(0))
        .stmt_cache_size(STATEMENTS)
        // Whether a row has changed is told by how many were.
        .client_found_rows(false);
    let login = match is_named {
        true => login,
        false => login.connect_attribute("program_name", options.client_name.clone()),
    };
    ConnectParams { servers: vec![login.into()], password: None, sends_tokens: false }
}

/// The driver uses the crypto provider of the process, and would panic without one where several are compiled in.
fn provide_crypto() {
    if CryptoProvider::get_default().is_none() {
        // Somebody else may have installed one in the meantime, which is as good.
        let _ = ring::default_provider().install_default();
    }
}

/// The certificates as the driver takes them.
fn driver_tls(certificates: Certificates) -> Result<SslOpts> {
    // The driver looks at them for the first time when it connects, and its errors do not say which file is wrong.
    certificates.config()?;
    provide_crypto();
    let authorities = match certificates.ca {
        Some(ca) => vec![ca.into()],
        None => {
            let native = rustls_native_certs::load_native_certs().certs;
            native.into_iter().map(|cert| cert.to_vec().into()).collect()
        }
    };
    let identity = certificates.cert.zip(certificates.key);
    Ok(SslOpts::default()
        .with_disable_built_in_roots(true)
        .with_root_certs(authorities)
        .with_client_identity(identity.map(|(cert, key)| ClientIdentity::new(cert.into(), key.into()))))
}

//! The socket to a server, with or without TLS. It is opened here and handed to the driver.
//!
//! The driver could open it itself, but it does not report that a connection was closed, and its TLS needs a crypto
//! provider that is installed for the whole process. That choice belongs to the application.

use super::cluster::Seeds;
#[cfg(target_os = "linux")]
use super::given::guarded;
use super::sentinel::Sentinels;
use crate::error::config;
use crate::stores::shared::net::{ConnectAttempt, HostPort, Password, Stream};
use crate::{Error, Result, sys};
use redis::{ConnectionAddr, ConnectionInfo, RedisConnectionInfo, RedisResult};
use rustls::{ClientConfig, crypto::CryptoProvider};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The endpoint of a server, and the credentials to log in with.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) endpoint: Endpoint,
    pub(super) login: RedisConnectionInfo,
    /// The password of the login, if it is from a URL or a callback.
    pub(super) password: Option<Password>,
    /// The URL has a user and no password.
    pub(super) lacks_password: bool,
}

/// The address of a server, and how to reach it.
#[derive(Clone)]
pub(super) enum Endpoint {
    Tcp(HostPort),
    Tls(HostPort, Arc<ClientConfig>),
    Unix(PathBuf),
    /// A client of the `redis` crate that was made for TLS. Its certificates cannot be read out, so it connects itself.
    Driver(Box<redis::Client>),
    /// The master of a service, whose address the sentinels know.
    Service(Arc<Sentinels>),
    /// A cluster, some of whose nodes are known.
    Cluster(Arc<Seeds>),
}

impl Server {
    /// The server of a client of the `redis` crate.
    pub(super) fn of(client: redis::Client) -> Self {
        let info: &ConnectionInfo = client.get_connection_info();
        let login = info.redis_settings().clone();
        let endpoint = match info.addr().clone() {
            ConnectionAddr::Tcp(host, port) => Endpoint::Tcp(HostPort::new(host, port)),
            ConnectionAddr::Unix(path) => Endpoint::Unix(path),
            _ => {
                #[cfg(target_os = "linux")]
                let client = guarded(client);
                Endpoint::Driver(Box::new(client))
            }
        };
        Self { endpoint, login, password: None, lacks_password: false }
    }

    /// The same with another password.
    pub(super) fn with_password(&self, password: Password) -> Self {
        Self { password: Some(password), lacks_password: false, ..self.clone() }
    }

    /// The same with another password for the sentinels.
    pub(super) fn with_sentinel_password(&self, password: &Password) -> Result<Self, Error> {
        let sentinels = self.endpoint.sentinels().ok_or_else(|| {
            config("with_sentinel_password_from needs a URL that begins with redis+sentinel: (or rediss+sentinel:)")
        })?;
        let endpoint = Endpoint::Service(Arc::new(sentinels.with_password(password)));
        Ok(Self { endpoint, ..self.clone() })
    }

    /// The same with other certificates.
    pub(super) fn with_tls(&self, tls: &Arc<ClientConfig>) -> Result<Self, Error> {
        let endpoint = self.endpoint.with_tls(tls).ok_or_else(|| {
            let why = "with_tls needs a URL that begins with rediss: (or rediss+sentinel:, rediss+cluster:)";
            config(why)
        })?;
        Ok(Self { endpoint, ..self.clone() })
    }

    /// The credentials, with the password as it is now. A callback has this time for it.
    pub(super) async fn login(&self, limit: Duration) -> Result<RedisConnectionInfo, Error> {
        Ok(match Password::of(self.password.as_ref(), limit).await? {
            Some(password) => self.login.clone().set_password(password),
            None => self.login.clone(),
        })
    }

    /// Refuses a user who cannot log in. What is taken for one may be the password, and is not repeated.
    pub(super) fn check_login(&self) -> Result<(), Error> {
        match self.lacks_password {
            true => Err(config(
                "the URL has a user and no password; a password without a user is written with a colon in front, :PASSWORD@HOST",
            )),
            false => Ok(()),
        }
    }
}

impl Endpoint {
    /// The same with other certificates; `None` where there is no TLS.
    pub(super) fn with_tls(&self, tls: &Arc<ClientConfig>) -> Option<Self> {
        match self {
            Self::Tcp(_) | Self::Unix(_) => None,
            Self::Tls(host, _) => Some(Self::Tls(host.clone(), tls.clone())),
            Self::Driver(client) => match client.get_connection_info().addr() {
                ConnectionAddr::TcpTls { host, port, .. } => {
                    Some(Self::Tls(HostPort::new(host, *port), tls.clone()))
                }
                _ => None,
            },
            Self::Service(sentinels) => Some(Self::Service(Arc::new(sentinels.with_tls(tls)?))),
            Self::Cluster(seeds) => Some(Self::Cluster(Arc::new(seeds.with_tls(tls)?))),
        }
    }

    /// What is to be known about a connection until the first answer.
    pub(super) fn attempt(&self) -> Arc<ConnectAttempt> {
        ConnectAttempt::new(match self {
            Self::Tls(..) => {
                "if this port is not for TLS, the URL has to begin with redis: (redis+sentinel: with sentinels, redis+cluster: with a \
                 cluster)"
            }
            _ => {
                "if this port is for TLS, the URL has to begin with rediss: (rediss+sentinel: with sentinels, rediss+cluster: with a \
                 cluster); it may also be a proxy that knows no CLIENT"
            }
        })
    }

    /// The host, if there is one in particular: no socket in the file system, for example.
    pub(super) fn host(&self) -> Option<&HostPort> {
        match self {
            Self::Tcp(host) | Self::Tls(host, _) => Some(host),
            Self::Unix(_) | Self::Driver(_) | Self::Service(_) | Self::Cluster(_) => None,
        }
    }

    /// The sentinels to ask for the master, if that is how it is found.
    pub(super) fn sentinels(&self) -> Option<&Arc<Sentinels>> {
        match self {
            Self::Service(sentinels) => Some(sentinels),
            _ => None,
        }
    }

    /// The nodes to begin with, if it is a cluster.
    pub(super) fn seeds(&self) -> Option<&Seeds> {
        match self {
            Self::Cluster(seeds) => Some(seeds),
            _ => None,
        }
    }

    /// The same at one address of the host.
    pub(super) fn at(&self, host: HostPort) -> Self {
        match self {
            Self::Tls(_, config) => Self::Tls(host, config.clone()),
            _ => Self::Tcp(host),
        }
    }

    /// Opens a socket.
    pub(super) async fn open(&self, attempt: &Arc<ConnectAttempt>) -> RedisResult<Box<dyn Stream>> {
        Ok(match self {
            Self::Tcp(host) => attempt.connect(None, host).await?,
            Self::Tls(host, config) => attempt.connect(Some(config), host).await?,
            Self::Unix(path) => Box::new(sys::unix_socket(path).await?),
            Self::Driver(_) => return Err(io::Error::other("the driver opens this connection itself").into()),
            Self::Service(_) | Self::Cluster(_) => {
                return Err(io::Error::other("nobody was asked yet which server it is").into());
            }
        })
    }

    /// Refuses a configuration that makes the driver panic.
    pub(super) fn check(&self) -> Result<(), Error> {
        if matches!(self, Self::Driver(_)) && CryptoProvider::get_default().is_none() {
            return Err(config(
                "a client of the redis crate that uses TLS needs a process-wide rustls provider; call \
                 rustls::crypto::ring::default_provider().install_default() at the start of main, or connect by a URL",
            ));
        }
        Ok(())
    }
}

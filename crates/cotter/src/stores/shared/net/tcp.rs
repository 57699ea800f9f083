//! Connecting to a host.

use super::blocking::addresses;
use crate::sys;
use std::net::SocketAddr;
use std::time::Duration;
use std::{fmt, io};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// A byte stream in both directions.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A host by its name, or one of its addresses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct HostPort {
    /// As it is written in the URL; certificates are checked for it.
    pub(crate) name: String,
    pub(crate) port: u16,
    /// Only this one is connected to.
    address: Option<SocketAddr>,
}

/// The time after which the kernel gives up a connection whose data is not acknowledged, or whose peer has vanished: whoever waits
/// for a message, or for the answer to a statement that waits in the server, hears nothing of that otherwise. Longer than the usual
/// timeout of a request.
pub(crate) const USER_TIMEOUT: Duration = Duration::from_secs(10);

impl HostPort {
    pub(crate) fn new(name: impl Into<String>, port: u16) -> Self {
        Self { name: name.into(), port, address: None }
    }

    /// The addresses that the host has now, as a host each.
    #[cfg(any(feature = "redis", feature = "postgres"))]
    pub(crate) async fn each(&self) -> io::Result<Vec<Self>> {
        let found = self.addresses().await?;
        Ok(found.into_iter().map(|address| Self { address: Some(address), ..self.clone() }).collect())
    }

    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        match self.address {
            Some(address) => Ok(vec![address]),
            None => addresses(&self.name, self.port).await,
        }
    }

    /// Connects to all addresses at once; the first connection that succeeds is used.
    pub(crate) async fn connect(&self) -> io::Result<TcpStream> {
        let mut tries = JoinSet::new();
        for address in self.addresses().await? {
            tries.spawn(TcpStream::connect(address));
        }
        let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        while let Some(done) = tries.join_next().await {
            match done.map_err(io::Error::other).and_then(|tried| tried) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    sys::limit_unacknowledged(&stream, USER_TIMEOUT)?;
                    return Ok(stream);
                }
                Err(e) => failed = e,
            }
        }
        Err(failed)
    }
}

/// The address, or the name of a host of which all addresses count.
impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(address) => address.fmt(f),
            None if self.name.contains(':') => write!(f, "[{}]:{}", self.name, self.port),
            None => write!(f, "{}:{}", self.name, self.port),
        }
    }
}

//! The way to a server: a socket of ours, with or without TLS, that the driver is given.
//!
//! The driver could open it itself. But then nobody hears that it was closed, and its TLS needs a provider that is
//! installed for the whole process, which is the application's to choose.

use crate::error::config;
use crate::{Error, Result, sys};
use redis::{ConnectionAddr, ConnectionInfo, RedisConnectionInfo, RedisError, RedisResult};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, crypto::CryptoProvider};
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

/// Where a server is, and as whom to speak to it.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) way: Way,
    pub(super) login: RedisConnectionInfo,
}

#[derive(Clone)]
pub(super) enum Way {
    Tcp(String, u16),
    Tls(String, u16, Arc<ClientConfig>),
    Unix(PathBuf),
    /// A client of the `redis` crate that was made for TLS: its certificates cannot be read out, so it connects itself.
    Theirs(Box<redis::Client>),
}

impl Server {
    /// The server of a client that was made elsewhere.
    pub(super) fn of(client: redis::Client) -> Self {
        let info: &ConnectionInfo = client.get_connection_info();
        let login = info.redis_settings().clone();
        let way = match info.addr().clone() {
            ConnectionAddr::Tcp(host, port) => Way::Tcp(host, port),
            ConnectionAddr::Unix(path) => Way::Unix(path),
            _ => Way::Theirs(Box::new(client)),
        };
        Self { way, login }
    }
}

/// What can be read from and written to.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Longer than any answer is waited for; what the kernel still has not got acknowledged then never will be.
const USER_TIMEOUT: Duration = Duration::from_secs(10);

impl Way {
    /// Opens a socket.
    pub(super) async fn open(&self) -> RedisResult<Box<dyn Stream>> {
        Ok(match self {
            Self::Tcp(host, port) => Box::new(tcp(host, *port).await?),
            Self::Tls(host, port, config) => {
                let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
                let stream = tcp(host, *port).await?;
                Box::new(TlsConnector::from(config.clone()).connect(name, stream).await?)
            }
            Self::Unix(path) => Box::new(sys::unix_socket(path).await?),
            Self::Theirs(_) => return Err(io::Error::other("the driver connects by itself").into()),
        })
    }

    /// Refuses what the driver would panic over.
    pub(super) fn check(&self) -> Result<(), Error> {
        if matches!(self, Self::Theirs(_)) && CryptoProvider::get_default().is_none() {
            return Err(config(
                "TLS by a client of the redis crate needs a rustls provider for the process; call \
                 rustls::crypto::ring::default_provider().install_default() at the start of main, or connect by URL",
            ));
        }
        Ok(())
    }
}

/// All addresses of a name are tried at once; the first that answers is taken.
async fn tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut tries = JoinSet::new();
    lookup_host((host, port)).await?.for_each(|address| _ = tries.spawn(TcpStream::connect(address)));
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

/// What is known of a connection from outside of its driver.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    written: AtomicU64,
    ended: AtomicBool,
}

impl Gauge {
    /// How many bytes have left so far.
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// Whether the driver has stopped: the socket was closed, or the runtime that drove it has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Runs a driver, and notes its end, however it comes.
    pub(super) fn watch(self: Arc<Self>, driver: impl Future<Output = ()>) -> impl Future<Output = ()> {
        let end = End(self);
        async move {
            driver.await;
            drop(end);
        }
    }
}

struct End(Arc<Gauge>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Release);
    }
}

/// A socket whose writes are counted.
pub(super) struct Gauged {
    stream: Box<dyn Stream>,
    gauge: Arc<Gauge>,
}

impl Gauged {
    pub(super) fn new(stream: Box<dyn Stream>, gauge: Arc<Gauge>) -> Self {
        Self { stream, gauge }
    }
}

impl AsyncRead for Gauged {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Gauged {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, buf);
        if let Poll::Ready(Ok(n)) = wrote {
            self.gauge.written.fetch_add(n as u64, Ordering::AcqRel);
        }
        wrote
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The connection went before anything of a request had left.
pub(super) fn never_sent() -> RedisError {
    io::Error::new(io::ErrorKind::NotConnected, NEVER_SENT).into()
}

const NEVER_SENT: &str = "the connection was closed before the request could be sent";

/// Whether the server cannot have seen anything of the request.
pub(super) fn is_never_sent(e: &RedisError) -> bool {
    e.is_io_error() && e.to_string().contains(NEVER_SENT)
}

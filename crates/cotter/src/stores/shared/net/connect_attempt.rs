//! One attempt to connect, as it can be seen from outside the driver. When it fails, the driver often knows only that the
//! connection has ended.

use super::{HostPort, Stream, tls};
use crate::sync::lock;
use crate::{Error, ErrorKind};
use rustls::ClientConfig;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// An attempt to connect, until the first answer of the server.
#[derive(Debug)]
pub(crate) struct ConnectAttempt {
    /// What to do if the port is for TLS and the connection is not, or the other way round.
    hint: &'static str,
    /// The TLS handshake has begun and has not ended yet.
    in_handshake: AtomicBool,
    /// The server has answered, or completed the TLS handshake.
    answered: AtomicBool,
    /// How the connection ended, if it did so before the first answer, or in the TLS handshake.
    ended: Mutex<Option<String>>,
    /// The beginning of the first answer.
    said: Mutex<Vec<u8>>,
}

/// So much of the first answer is kept.
const LONGEST_LINE: usize = 256;

/// Whether a TLS handshake ends like this with a server that does not use TLS: it closes the connection, or answers in its own
/// language.
fn is_no_tls(e: &io::Error) -> bool {
    let closed = [
        io::ErrorKind::UnexpectedEof,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::ConnectionAborted,
        io::ErrorKind::BrokenPipe,
    ];
    closed.contains(&e.kind()) || e.to_string().contains("corrupt message")
}

impl ConnectAttempt {
    pub(crate) fn new(hint: &'static str) -> Arc<Self> {
        let (in_handshake, answered, ended, said) = Default::default();
        Arc::new(Self { hint, in_handshake, answered, ended, said })
    }

    /// For a store whose URL has the option `tls=`.
    #[cfg(any(feature = "etcd", feature = "zookeeper"))]
    pub(crate) fn by_option(tls: Option<&Arc<ClientConfig>>) -> Arc<Self> {
        Self::new(match tls {
            Some(_) => "if this port is not for TLS, leave out tls=yes",
            None => "if this port is for TLS, set tls=yes",
        })
    }

    /// Connects to a host, with TLS if it is configured.
    pub(crate) async fn connect(
        self: &Arc<Self>,
        tls: Option<&Arc<ClientConfig>>,
        host: &HostPort,
    ) -> io::Result<Box<dyn Stream>> {
        let stream: Box<dyn Stream> = match tls {
            Some(tls) => self.handshake(tls, &host.name, host.connect().await?).await?,
            None => plain(host).await?,
        };
        Ok(Box::new(ObservedStream { stream, attempt: self.clone(), fresh: true, failed: None }))
    }

    async fn handshake(
        &self,
        tls: &Arc<ClientConfig>,
        host: &str,
        stream: TcpStream,
    ) -> io::Result<Box<dyn Stream>> {
        self.in_handshake.store(true, Ordering::Release);
        let begun = tls::begin(tls, host, stream).await;
        self.in_handshake.store(false, Ordering::Release);
        match &begun {
            // What ends it now is no server without TLS.
            Ok(_) => self.answered.store(true, Ordering::Release),
            Err(e) => self.handshake_failed(e),
        }
        begun
    }

    /// The error for a connection that has failed, if more is known about it than the driver knows.
    pub(crate) fn explain(&self) -> Option<Error> {
        let said = lock(&self.ended).clone()?;
        if let Some(refused) = tls::refused(&said) {
            return Some(refused);
        }
        let is_mute = !self.answered.load(Ordering::Acquire);
        is_mute.then(|| {
            unavailable(format!("the server closed the connection without an answer ({said})"), self.hint)
        })
    }

    /// The error for a connection that took too long, if the server has accepted it and did not answer the TLS handshake.
    pub(crate) fn explain_timeout(&self) -> Option<Error> {
        let why = || "the server does not answer the TLS handshake".to_owned();
        self.in_handshake.load(Ordering::Acquire).then(|| unavailable(why(), self.hint))
    }

    /// The first line of the first answer, as far as it came in one piece.
    #[cfg(feature = "redis")]
    pub(crate) fn first_line(&self) -> String {
        let said = lock(&self.said);
        String::from_utf8_lossy(said.split(|byte| *byte == b'\r').next().unwrap_or_default()).into_owned()
    }

    fn handshake_failed(&self, e: &io::Error) {
        let said = e.to_string();
        if tls::refused(&said).is_some() || is_no_tls(e) {
            self.end(said);
        }
    }

    fn end(&self, how: String) {
        lock(&self.ended).get_or_insert(how);
    }
}

/// A connection without TLS.
async fn plain(host: &HostPort) -> io::Result<Box<dyn Stream>> {
    #[cfg(feature = "conformance")]
    if let Some(connecting) = super::simulated::connect(&host.name, host.port) {
        return Ok(Box::new(connecting.await?));
    }
    Ok(Box::new(host.connect().await?))
}

fn unavailable(why: String, hint: &str) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{why}; {hint}"))
}

/// A stream that is observed until the first answer.
struct ObservedStream {
    stream: Box<dyn Stream>,
    attempt: Arc<ConnectAttempt>,
    /// Nothing was read yet.
    fresh: bool,
    /// The write that has failed.
    failed: Option<io::Error>,
}

impl ObservedStream {
    /// A server that does not accept the client says so and closes the connection, perhaps before the first request is written.
    /// A driver does not read any more after that, so it is done here.
    fn poll_alert(&mut self, e: io::Error, cx: &mut Context<'_>) -> Poll<io::Error> {
        let mut space = [0; 64];
        let read = Pin::new(&mut *self).poll_read(cx, &mut ReadBuf::new(&mut space));
        if self.fresh && read.is_pending() {
            self.failed = Some(e);
            return Poll::Pending;
        }
        Poll::Ready(e)
    }
}

impl AsyncRead for ObservedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if self.fresh {
            match &read {
                Poll::Pending => {}
                Poll::Ready(Ok(())) if buf.filled().len() > before => {
                    self.fresh = false;
                    self.attempt.answered.store(true, Ordering::Release);
                    let said = &buf.filled()[before..];
                    lock(&self.attempt.said).extend(&said[..said.len().min(LONGEST_LINE)]);
                }
                Poll::Ready(Ok(())) => self.attempt.end("end of file".to_owned()),
                Poll::Ready(Err(e)) => self.attempt.end(e.to_string()),
            }
        }
        read
    }
}

impl AsyncWrite for ObservedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = match self.failed.take() {
            Some(e) => Poll::Ready(Err(e)),
            None => Pin::new(&mut self.stream).poll_write(cx, buf),
        };
        match wrote {
            Poll::Ready(Err(e)) if self.fresh => self.poll_alert(e, cx).map(Err),
            wrote => wrote,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = match self.failed.take() {
            Some(e) => Poll::Ready(Err(e)),
            None => Pin::new(&mut self.stream).poll_flush(cx),
        };
        match flushed {
            Poll::Ready(Err(e)) if self.fresh => self.poll_alert(e, cx).map(Err),
            flushed => flushed,
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

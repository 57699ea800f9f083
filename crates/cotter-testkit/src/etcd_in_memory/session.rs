//! One connection to a server.

use super::routes::{Soon, route};
use super::server::Server;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Sleep, sleep};

/// One connection to a server. Dropping it ends it.
#[derive(Debug)]
pub struct Session(UnboundedSender<Vec<u8>>);

/// What a server sends to one session. It ends after something empty, when the server ends the session.
pub type Outgoing = UnboundedReceiver<Vec<u8>>;

impl Server {
    /// Opens a session, in a task of its own.
    #[must_use]
    pub fn open(&self) -> (Session, Outgoing) {
        let ((sender, received), (out, outgoing)) = (unbounded_channel(), unbounded_channel());
        let pipe = Pipe { received, rest: Vec::new(), ending: None, out };
        tokio::spawn(self.clone().serve(pipe));
        (Session(sender), outgoing)
    }

    /// Carries out the requests of a connection until it ends.
    pub async fn serve(self, io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        let mut starts = self.0.starts.subscribe();
        let service = service_fn(move |request| -> Soon<Result<_, Infallible>> {
            let server = self.clone();
            Box::pin(async move { Ok(route(server, request).await) })
        });
        let mut http = http2::Builder::new(TokioExecutor::new());
        // It would be the time of this host.
        let serving = http.auto_date_header(false).serve_connection(TokioIo::new(io), service);
        tokio::select! {
            biased;
            _ = starts.changed() => {}
            _ = serving => {}
        }
    }
}

impl Session {
    /// Gives the server what has come. False at the end of the session.
    pub fn received(&mut self, bytes: &[u8]) -> bool {
        self.0.send(bytes.to_vec()).is_ok()
    }
}

/// The server's end of a connection.
struct Pipe {
    received: UnboundedReceiver<Vec<u8>>,
    /// What has come and was not read.
    rest: Vec<u8>,
    ending: Option<Pin<Box<Sleep>>>,
    out: UnboundedSender<Vec<u8>>,
}

/// The end of a connection is noticed after what came before it was carried out.
const NOTICED: Duration = Duration::from_millis(1);

/// A client is told that its connection has ended.
impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.out.send(Vec::new());
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.rest.is_empty() && self.ending.is_none() {
            match ready!(self.received.poll_recv(cx)) {
                Some(bytes) => self.rest = bytes,
                None => self.ending = Some(Box::pin(sleep(NOTICED))),
            }
        }
        if let Some(ending) = &mut self.ending {
            return ending.as_mut().poll(cx).map(Ok);
        }
        let now = self.rest.len().min(buf.remaining());
        buf.put_slice(&self.rest[..now]);
        self.rest.drain(..now);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // Something empty would say that this is the end.
        let sent = if bytes.is_empty() { Ok(()) } else { self.out.send(bytes.to_vec()) };
        Poll::Ready(sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

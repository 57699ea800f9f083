//! The stream below a driver: what was written and asked can be seen from outside, and small requests are written together.

use crate::stores::shared::net::Stream;
use redis::RedisError;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The state of a socket, as it can be seen from outside its driver.
#[derive(Debug, Default)]
pub(super) struct SocketState {
    written: AtomicU64,
    /// The requests that await an answer.
    asked: AtomicU32,
    ended: AtomicBool,
    turned_away: AtomicBool,
}

impl SocketState {
    /// The number of bytes written so far.
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// Counts a request until its answer has come, or nobody waits for that any more.
    pub(super) fn asking(&self) -> Asking<'_> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Asking(self)
    }

    /// Whether the server has closed the socket at once because it has too many clients. The driver takes that for the answer
    /// to its first request, mostly the login, and reports a wrong password.
    pub(super) fn was_turned_away(&self) -> bool {
        self.turned_away.load(Ordering::Acquire)
    }

    /// Whether the driver has stopped: the socket was closed, or the runtime that drove it has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Runs a driver and records its end, in whatever way it ends.
    pub(super) fn watch(self: Arc<Self>, driver: impl Future<Output = ()>) -> impl Future<Output = ()> {
        let end = End(self);
        async move {
            driver.await;
            drop(end);
        }
    }
}

/// A request that awaits its answer.
pub(super) struct Asking<'a>(&'a SocketState);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.asked.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Marks a socket as ended when it is dropped.
struct End(Arc<SocketState>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Release);
    }
}

/// With so many requests on their way, a driver that writes each of them at once spends more time in the kernel than all else
/// takes: answers arrive together, the first task that goes on wakes the driver, and the others have not asked yet.
const MANY: u32 = 32;
/// What fills a packet need not wait for more.
const PACKET: usize = 1400;

/// A stream whose written bytes are counted.
///
/// If many requests are on their way, and those to be written would not fill a packet, the driver yields once, so that tasks that
/// are ready can add theirs. With few requests that would cost more than it saves: the server would wait for all of them.
pub(super) struct TrackedStream {
    stream: Box<dyn Stream>,
    state: Arc<SocketState>,
    /// Nothing was read yet.
    fresh: bool,
    /// The driver has yielded for what it writes now.
    gathered: bool,
}

/// The beginning of what a server says instead of any answer when it has reached `maxclients`.
const TOO_MANY: &[u8] = b"-ERR max number of clients";

impl TrackedStream {
    pub(super) fn new(stream: Box<dyn Stream>, state: Arc<SocketState>) -> Self {
        Self { stream, state, fresh: true, gathered: false }
    }

    fn is_worth_waiting(&self, bytes: usize) -> bool {
        bytes < PACKET && self.state.asked.load(Ordering::Relaxed) > MANY
    }
}

impl AsyncRead for TrackedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if read.is_ready() && std::mem::take(&mut self.fresh) && buf.filled()[before..].starts_with(TOO_MANY)
        {
            self.state.turned_away.store(true, Ordering::Release);
        }
        read
    }
}

impl AsyncWrite for TrackedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_worth_waiting(buf.len()) && !std::mem::replace(&mut self.gathered, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let wrote = Pin::new(&mut self.stream).poll_write(cx, buf);
        if let Poll::Ready(Ok(n)) = wrote {
            self.state.written.fetch_add(n as u64, Ordering::AcqRel);
        }
        wrote
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.gathered = false;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The error for a connection that broke before any part of the request was written.
pub(super) fn never_sent() -> RedisError {
    io::Error::new(io::ErrorKind::NotConnected, NEVER_SENT).into()
}

const NEVER_SENT: &str = "the connection was closed before the request could be sent";

/// Whether the server cannot have seen any part of the request.
pub(super) fn is_never_sent(e: &RedisError) -> bool {
    e.is_io_error() && e.to_string().contains(NEVER_SENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;
    use tokio::io::duplex;

    /// How many of these bytes are written by the first, and by the next poll, while so many requests are on their way.
    fn written(asked: u32, bytes: usize) -> [Option<usize>; 2] {
        let state = Arc::<SocketState>::default();
        let _asked: Vec<_> = (0..asked).map(|_| state.asking()).collect();
        let (ours, _theirs) = duplex(1 << 20);
        let mut stream = TrackedStream::new(Box::new(ours), state.clone());
        let mut write = || match Pin::new(&mut stream)
            .poll_write(&mut Context::from_waker(Waker::noop()), &vec![0; bytes])
        {
            Poll::Ready(written) => Some(written.unwrap()),
            Poll::Pending => None,
        };
        [write(), write()]
    }

    #[test]
    fn small_requests_of_many_wait_once_for_those_of_others() {
        assert_eq!(written(MANY + 1, 100), [None, Some(100)]);
        assert_eq!(written(MANY, 100), [Some(100); 2], "there are few");
        assert_eq!(written(MANY + 1, PACKET), [Some(PACKET); 2], "it fills a packet");
    }

    #[test]
    fn what_was_flushed_was_gathered() {
        let state = Arc::<SocketState>::default();
        let asked: Vec<_> = (0..=MANY).map(|_| state.asking()).collect();
        let (ours, _theirs) = duplex(1 << 20);
        let mut stream = TrackedStream::new(Box::new(ours), state.clone());
        let cx = &mut Context::from_waker(Waker::noop());
        for _ in 0..3 {
            assert!(Pin::new(&mut stream).poll_write(cx, b"a").is_pending());
            assert!(Pin::new(&mut stream).poll_write(cx, b"a").is_ready());
            assert!(Pin::new(&mut stream).poll_write(cx, b"a").is_ready(), "the rest of it");
            assert!(Pin::new(&mut stream).poll_flush(cx).is_ready());
        }
        drop(asked);
        assert!(Pin::new(&mut stream).poll_write(cx, b"a").is_ready(), "all were answered");
        assert_eq!(state.written(), 7);
    }
}

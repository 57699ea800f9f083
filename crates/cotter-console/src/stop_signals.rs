//! The signals that end a command early.

use crate::Failure;
use std::future::poll_fn;
use std::task::Poll;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens to INT, TERM, HUP and QUIT from the moment it is created; they do not end the process any more.
#[derive(Debug)]
pub struct StopSignals(Vec<(u8, Signal)>);

impl StopSignals {
    /// Begins to listen. Needs a tokio runtime.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen() -> Result<Self, Failure> {
        let kinds =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()];
        let number = |kind: SignalKind| u8::try_from(kind.as_raw_value()).unwrap_or_default();
        let listen = |kind| Ok((number(kind), signal(kind)?));
        Ok(Self(kinds.into_iter().map(listen).collect::<Result<_, Failure>>()?))
    }

    /// The number of the next signal. None is lost if the future is dropped.
    pub async fn next(&mut self) -> u8 {
        poll_fn(|cx| {
            let mut streams = self.0.iter_mut();
            let received =
                streams.find_map(|(number, stream)| stream.poll_recv(cx).is_ready().then_some(*number));
            received.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

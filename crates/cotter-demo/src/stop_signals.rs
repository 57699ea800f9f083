//! The signals that end a command that has nothing to finish.

use cotter_console::Failure;
use std::future::poll_fn;
use std::task::Poll;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens from the moment it is created.
pub(crate) struct StopSignals(Vec<(u8, Signal)>);

impl StopSignals {
    pub(crate) fn listen() -> Result<Self, Failure> {
        let kinds =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()];
        let number = |kind: SignalKind| u8::try_from(kind.as_raw_value()).unwrap_or_default();
        let listen = |kind| Ok((number(kind), signal(kind)?));
        Ok(Self(kinds.into_iter().map(listen).collect::<Result<_, Failure>>()?))
    }

    /// The number of the next signal.
    pub(crate) async fn next(&mut self) -> u8 {
        poll_fn(|cx| {
            let mut streams = self.0.iter_mut();
            let received =
                streams.find_map(|(number, stream)| stream.poll_recv(cx).is_ready().then_some(*number));
            received.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

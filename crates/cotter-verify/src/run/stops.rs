//! Signals that end the run early.

use cotter_console::Failure;
use std::future::poll_fn;
use std::task::Poll;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens from the moment it is created.
#[derive(Debug)]
pub(super) struct Stops(Vec<(u8, Signal)>);

impl Stops {
    pub(super) fn listen() -> Result<Self, Failure> {
        let kinds =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()];
        let number = |kind: SignalKind| u8::try_from(kind.as_raw_value()).unwrap_or_default();
        let listen = |kind| Ok((number(kind), signal(kind)?));
        Ok(Self(kinds.into_iter().map(listen).collect::<Result<_, Failure>>()?))
    }

    /// The number of the next signal.
    pub(super) async fn next(&mut self) -> u8 {
        poll_fn(|cx| {
            let mut streams = self.0.iter_mut();
            let heard =
                streams.find_map(|(number, stream)| stream.poll_recv(cx).is_ready().then_some(*number));
            heard.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

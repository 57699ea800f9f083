//! The signals that end what has nothing to finish.

use crate::output::Failure;
use std::future::poll_fn;
use std::task::Poll;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Heard from the moment it is made.
pub(crate) struct Stops(Vec<(u8, Signal)>);

impl Stops {
    pub(crate) fn listen() -> Result<Self, Failure> {
        let kinds =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()];
        let number = |kind: SignalKind| u8::try_from(kind.as_raw_value()).unwrap_or_default();
        let listen = |kind| Ok((number(kind), signal(kind)?));
        Ok(Self(kinds.into_iter().map(listen).collect::<Result<_, Failure>>()?))
    }

    /// The number of the next one.
    pub(crate) async fn next(&mut self) -> u8 {
        poll_fn(|cx| {
            let mut streams = self.0.iter_mut();
            let came =
                streams.find_map(|(number, stream)| stream.poll_recv(cx).is_ready().then_some(*number));
            came.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

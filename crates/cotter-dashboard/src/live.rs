//! Pages that go on by themselves.

use crate::listing::PERIOD;
use crate::server::Shared;
use askama::Template;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// So many may do so at a time.
pub(crate) const LIVE: usize = 100;

/// A part of a page, again and again: every second, and only if it has changed.
pub(crate) fn live<T, F>(shared: Arc<Shared>, part: impl Fn(Arc<Shared>) -> F + Send + 'static) -> Response
where
    T: Template + Send,
    F: Future<Output = T> + Send + 'static,
{
    let Ok(permit) = shared.live.clone().try_acquire_owned() else {
        let why = format!("{LIVE} pages go on by themselves already; close one, and reload this one\n");
        return (StatusCode::SERVICE_UNAVAILABLE, why).into_response();
    };
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        let _permit: OwnedSemaphorePermit = permit;
        let mut last = String::new();
        loop {
            let text = part(shared.clone()).await.render().unwrap_or_default();
            if text != last {
                last.clone_from(&text);
                if sender.send(Ok(Event::default().data(text))).await.is_err() {
                    return;
                }
            }
            tokio::select! {
                () = tokio::time::sleep(PERIOD) => {}
                () = sender.closed() => return,
            }
        }
    });
    Sse::new(Parts(receiver)).keep_alive(KeepAlive::default()).into_response()
}

/// What a task sends, as a stream.
struct Parts(tokio::sync::mpsc::Receiver<Result<Event, Infallible>>);

impl Stream for Parts {
    type Item = Result<Event, Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

//! Streams of watches.

use super::messages::{WatchOrder, WatchRequest, WatchResponse};
use super::refusals::no_leader;
use super::routes::Incomings;
use super::server::{Leads, Server};
use super::streams::{self, Tell};
use tokio::time::sleep;
use tonic::Streaming;
use tonic::body::Body;

pub(super) async fn stream(server: Server, request: Incomings) -> http::Response<Body> {
    let read = async move |mut orders: Streaming<WatchRequest>, tell: Tell<WatchResponse>| {
        if *server.0.leads.borrow() == Leads::No {
            let _ = tell.send(Err(no_leader()));
            return;
        }
        let stream = server.state().watches.open(tell);
        server.follow(stream, &mut orders).await;
        server.state().watches.close(stream);
    };
    streams::answer(request, read).await
}

impl Server {
    async fn follow(&self, stream: u64, orders: &mut Streaming<WatchRequest>) {
        while let Ok(Some(order)) = orders.message().await {
            let revision = self.state().keys.revision;
            match order.order {
                Some(WatchOrder::Create(create)) => {
                    // What is written now makes it a watch of the past.
                    if let Some(pause) = self.before_a_watch() {
                        sleep(pause).await;
                    }
                    let mut state = self.state();
                    let state = &mut *state;
                    state.watches.create(stream, &create, revision, &state.keys);
                }
                Some(WatchOrder::Cancel(cancel)) => {
                    self.state().watches.cancel(stream, cancel.watch_id, revision);
                }
                Some(WatchOrder::Progress(_)) => self.state().watches.progress(stream, revision),
                None => {}
            }
        }
    }
}

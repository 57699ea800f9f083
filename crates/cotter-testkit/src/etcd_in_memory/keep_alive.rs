//! Keeping leases alive.

use super::messages::{Header, LeaseKeepAliveRequest, LeaseKeepAliveResponse};
use super::refusals::no_leader;
use super::routes::Incomings;
use super::server::{Leads, Server};
use super::streams;
use std::time::Duration;
use tokio::time::sleep;
use tonic::body::Body;
use tonic::{Code, Status, Streaming};

/// A server looks so often whether a lease that is over has been ended.
const ENDED: Duration = Duration::from_millis(50);

pub(super) async fn stream(server: Server, request: Incomings) -> http::Response<Body> {
    let read = async move |mut questions: Streaming<LeaseKeepAliveRequest>, tell: streams::Tell<_>| {
        while let Ok(Some(question)) = questions.message().await {
            let answer = server.keep_alive(question.id).await;
            let is_over = answer.is_err();
            if tell.send(answer).is_err() || is_over {
                return;
            }
        }
    };
    streams::answer(request, read).await
}

impl Server {
    /// A member that takes itself for the leader answers as one, and extends nothing.
    async fn keep_alive(&self, id: i64) -> Result<LeaseKeepAliveResponse, Status> {
        let revision = self.state().keys.revision;
        loop {
            {
                let leads = *self.0.leads.borrow();
                let mut state = self.state();
                let renewed = match leads {
                    Leads::Yes => state.leases.renew(id),
                    Leads::Unaware => Ok(state.leases.granted(id)),
                    Leads::No => return Err(no_leader()),
                };
                let ttl = match renewed {
                    Ok(ttl) => ttl,
                    Err(status) if status.code() == Code::NotFound => Some(0),
                    Err(status) => return Err(status),
                };
                if let Some(ttl) = ttl {
                    let header = Some(Header { revision, ..Header::default() });
                    return Ok(state.sign(LeaseKeepAliveResponse { header, id, ttl }));
                }
            }
            // It is answered when the lease has been ended.
            sleep(ENDED).await;
        }
    }
}

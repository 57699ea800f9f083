//! Requests: on the current connection, and once more on another one if the server had closed it before anything was changed.

use super::connector::{Link, Pool};
use super::live::Live;
use crate::backend::ClaimId;
use crate::backend::inflight::InFlight;
use crate::stores::shared::net::Live as _;
use crate::{Error, Result};
use std::sync::Arc;

/// Makes a request.
pub(super) async fn attempt<T, F: Future<Output = Result<T>>>(
    link: &Link,
    attempt: impl Fn(Arc<Live>) -> F,
) -> Result<T> {
    let (began, live) = (link.now(), link.live().await?);
    let answer = attempt(live.clone()).await;
    match answer {
        Err(e) if e.is_retryable() && !e.outcome_unknown() && !live.is_usable() => {
            if link.now().since(began) > link.timeout() / 2 {
                return Err(e);
            }
            attempt(link.live().await?).await
        }
        answer => answer,
    }
}

/// Makes a request after which this claim may hold something.
pub(super) async fn for_claim<T, F: Future<Output = Result<T>>>(
    pool: &Pool,
    in_flight: &InFlight,
    id: ClaimId,
    ask: impl Fn(Arc<Live>) -> F,
) -> Result<T> {
    let (ask, link) = (&ask, pool.of(id));
    let answer = attempt(link, |live| async move {
        let request = in_flight.send(id, live.number, link.arrives_by(link.now()));
        let answer = ask(live).await;
        if !answer.as_ref().is_err_and(Error::outcome_unknown) {
            request.answered();
        }
        answer
    });
    answer.await
}

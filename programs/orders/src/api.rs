//! The requests, and what they are answered.

use crate::{provider, store};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use cotter::Client;
use sqlx::PgPool;
use std::time::Duration;

#[derive(Clone)]
struct App {
    db: PgPool,
    locks: Client,
}

pub fn router(db: PgPool, locks: Client) -> Router {
    Router::new()
        .route("/orders/{id}/pay", post(pay))
        .route("/health/live", get(|| async {}))
        .route("/health/ready", get(ready))
        .with_state(App { db, locks })
}

/// How long a request waits for another one that pays the same order.
const PATIENCE: Duration = Duration::from_secs(2);

async fn pay(State(app): State<App>, Path(id): Path<i64>) -> Result<String, Failure> {
    let lock = app.locks.mutex(format!("order:{id}"));
    let guard = lock.try_lock_for(PATIENCE).await?.ok_or(Failure::Busy)?;
    if !store::is_open(&app.db, id).await?.ok_or(Failure::NotFound)? {
        return Err(Failure::Paid);
    }
    // Ends early if the lock is lost.
    let receipt = guard.scope(provider::charge(id)).await?;
    // Whatever has happened meanwhile: this is written by the newest holder, or not at all.
    if !store::close(&app.db, id, &receipt, guard.token()).await? {
        return Err(Failure::Paid);
    }
    // There is nothing to `finish`: the token has proved more. Dropping the guard gives the lock back.
    Ok(receipt)
}

async fn ready(State(app): State<App>) -> Result<(), Failure> {
    Ok(store::answers(&app.db).await?)
}

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("there is no such order")]
    NotFound,
    #[error("another request is paying this order; try again")]
    Busy,
    #[error("this order is paid, or somebody else is paying it now")]
    Paid,
    #[error(transparent)]
    Locks(#[from] cotter::Error),
    #[error(transparent)]
    Lost(#[from] cotter::Lost),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Busy | Self::Paid => StatusCode::CONFLICT,
            Self::Locks(_) | Self::Lost(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Database(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        if status.is_client_error() {
            return (status, self.to_string()).into_response();
        }
        // The log gets the cause, and the caller only what to do.
        tracing::error!("{self}");
        (status, [(header::RETRY_AFTER, "5")], "try again later").into_response()
    }
}

#[cfg(test)]
mod tests;

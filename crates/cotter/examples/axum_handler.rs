//! Program 1: an HTTP handler that locks an order for at most two seconds and answers 409 when it is busy.
#![allow(clippy::print_stdout, reason = "an example talks")]

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Router, routing::post};
use cotter::{Client, Lease};
use std::time::Duration;

async fn pay(State(locks): State<Client>, Path(order): Path<String>) -> Result<String, StatusCode> {
    let mutex = locks.mutex(format!("order:{order}")).lease(Lease::fixed(Duration::from_secs(2)));
    let guard = mutex.try_lock().await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    let guard = guard.ok_or(StatusCode::CONFLICT)?;
    let paid = guard.scope(async { format!("paid under token {}", guard.token()) }).await;
    paid.map_err(|_lost| StatusCode::SERVICE_UNAVAILABLE)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let locks = Client::connect("file:").await?;
    let app = Router::new().route("/orders/{order}/pay", post(pay)).with_state(locks);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    Ok(axum::serve(listener, app).await?)
}

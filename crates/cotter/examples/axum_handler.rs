//! An HTTP handler that locks an order for at most two seconds and answers 409 if it is busy.
#![allow(clippy::print_stdout, reason = "an example prints")]

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Router, routing::post};
use cotter::{Client, Lease};
use std::time::Duration;

async fn pay(State(locks): State<Client>, Path(order): Path<String>) -> Result<String, StatusCode> {
    let lock = locks.mutex(format!("order:{order}")).lease(Lease::fixed(Duration::from_secs(2)));
    let paid = lock.try_with(async |guard| format!("paid under token {}", guard.token()));
    match paid.await {
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => Err(StatusCode::CONFLICT),
        Err(_) => Err(StatusCode::SERVICE_UNAVAILABLE),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "file:".to_owned());
    let locks = Client::connect(url).await?;
    let app = Router::new().route("/orders/{order}/pay", post(pay)).with_state(locks);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    println!("curl -X POST http://127.0.0.1:8080/orders/7/pay");
    Ok(axum::serve(listener, app).await?)
}

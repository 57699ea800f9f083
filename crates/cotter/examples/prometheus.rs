//! Metrics of locks for Prometheus, at http://127.0.0.1:8080/metrics. The alerts for it are in docs/observability.md.
#![allow(clippy::print_stdout, reason = "an example prints")]

use axum::{Router, routing::get};
use cotter::{Client, Name, metrics};
use metrics_exporter_prometheus::PrometheusBuilder;
use std::time::Duration;

/// All orders are one class: each value of the label is a series of its own for ever.
fn class(lock: &Name) -> String {
    lock.split(':').next().unwrap_or_default().to_owned()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Before the client, so that the recorder gets the descriptions.
    let seconds = [0.001, 0.01, 0.1, 1.0, 10.0, 60.0];
    let prometheus = PrometheusBuilder::new().set_buckets(&seconds)?.install_recorder()?;
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let locks = Client::builder().observe(metrics::observer_by(class)).connect(url).await?;
    tokio::spawn(async move {
        for order in 0_u64.. {
            let paid = locks.mutex(format!("order:{order}")).with(async |_| order).await;
            println!("paid: {paid:?}");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    let app = Router::new().route("/metrics", get(async move || prometheus.render()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    Ok(axum::serve(listener, app).await?)
}

//! A service that takes payments for orders, any number of which run at once: `orders migrate`, then `orders`.

mod api;
mod provider;
mod store;

use anyhow::Context;
use axum::routing::get;
use cotter::{Client, Name, metrics};
use metrics_exporter_prometheus::PrometheusBuilder;
use sqlx::PgPool;
use std::env;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let url = env::var("DATABASE_URL").context("DATABASE_URL is not set")?;
    let db = PgPool::connect_lazy(&url)?;
    if env::args().nth(1).as_deref() == Some("migrate") {
        return migrate(&url, &db).await;
    }

    // The recorder first: the observer describes its metrics to it.
    let buckets = [0.001, 0.01, 0.1, 1.0, 10.0, 60.0];
    let prometheus = PrometheusBuilder::new().set_buckets(&buckets)?.install_recorder()?;
    let locks = Client::builder()
        .observe(metrics::observer_by(class))
        .retry_connect(Duration::from_secs(30))
        .connect(&url)
        .await?;

    let app =
        api::router(db.clone(), locks.clone()).route("/metrics", get(async move || prometheus.render()));
    let address = env::var("LISTEN").unwrap_or_else(|_| "0.0.0.0:8080".into());
    let listener = TcpListener::bind(&address).await.context(address)?;
    tracing::info!("listening on {}", listener.local_addr()?);
    let mut terminated = signal(SignalKind::terminate())?;
    let stop = async move {
        terminated.recv().await;
        tracing::info!("stopping: requests that have begun are answered");
    };
    axum::serve(listener, app).with_graceful_shutdown(stop).await?;
    // Nobody holds a lock any more, but some may still be on their way back to the store.
    locks.close(Duration::from_secs(5)).await?;
    db.close().await;
    tracing::info!("stopped");
    Ok(())
}

/// The tables of the service, and those of cotter in the same database.
async fn migrate(url: &str, db: &PgPool) -> anyhow::Result<()> {
    sqlx::migrate!().run(db).await?;
    Ok(Client::builder().migrate(url).await?)
}

/// `order:17` and `order:18` are both counted as `order`.
fn class(lock: &Name) -> String {
    lock.split(':').next().unwrap_or_default().to_owned()
}

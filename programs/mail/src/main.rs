//! A worker that takes letters from a list in Redis. Any number of them run at once, and a customer gets one letter at a time.
//!
//! A letter is `CUSTOMER TEXT`: `redis-cli lpush letters "7 Your order is on its way."`

use anyhow::Context;
use cotter::{Client, metrics};
use mail::deliver;
use metrics_exporter_prometheus::PrometheusBuilder;
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, Direction};
use std::env;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

const LETTERS: &str = "letters";
/// Those that a worker deals with, or was dealing with when it died.
const TAKEN: &str = "letters:taken";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let url = env::var("REDIS_URL").context("REDIS_URL is not set")?;
    let address: SocketAddr = env::var("METRICS").unwrap_or_else(|_| "0.0.0.0:9000".into()).parse()?;
    // The recorder first: the observer describes its metrics to it.
    let buckets = [0.001, 0.01, 0.1, 1.0, 10.0, 60.0];
    PrometheusBuilder::new().set_buckets(&buckets)?.with_http_listener(address).install()?;
    let observer = metrics::observer_by(|_| "customer");
    let locks = Client::builder().observe(observer).connect(&url).await?;
    let queue = redis::Client::open(url)?.get_multiplexed_async_connection().await?;

    let stop = CancellationToken::new();
    let mut terminated = signal(SignalKind::terminate())?;
    let stopping = stop.clone();
    tokio::spawn(async move {
        terminated.recv().await;
        stopping.cancel();
    });
    tracing::info!("waiting for letters");
    work(&locks, queue, &stop).await?;
    locks.close(Duration::from_secs(5)).await?;
    tracing::info!("stopped");
    Ok(())
}

/// Until it is to stop, which it does between two letters.
async fn work(
    locks: &Client,
    mut queue: MultiplexedConnection,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    while !stop.is_cancelled() {
        let letter = queue.lmove(LETTERS, TAKEN, Direction::Right, Direction::Left).await?;
        let Some::<String>(letter) = letter else {
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(Duration::from_millis(100)) => {}
            }
            continue;
        };
        if !is_sent(locks, &letter).await {
            queue.lpush::<_, _, ()>(LETTERS, &letter).await?;
        }
        queue.lrem::<_, _, ()>(TAKEN, 1, &letter).await?;
    }
    Ok(())
}

async fn is_sent(locks: &Client, letter: &str) -> bool {
    let (customer, text) = letter.split_once(' ').unwrap_or((letter, ""));
    let send = async |token| {
        tokio::time::sleep(Duration::from_millis(200)).await; // the mail server
        tracing::info!(customer, %token, "sent: {text}");
    };
    match deliver(locks, customer, send).await {
        Ok(is_sent) => is_sent,
        Err(error) => {
            tracing::warn!(customer, %error, "not sent");
            false
        }
    }
}

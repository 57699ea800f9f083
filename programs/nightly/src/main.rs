//! Jobs that any number of replicas have, each run of which is made by one of them, and repeated if it fails.

use anyhow::{Context, ensure};
use cotter::Client;
use cotter_scheduler::{Job, Misfire, Run, Scheduler, Trigger};
use std::env;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let url = env::var("REDIS_URL").context("REDIS_URL is not set")?;
    let client = Client::builder().retry_connect(Duration::from_secs(30)).connect(url).await?;
    // At night, unless it is to be seen sooner: `IMPORT='* * * * * ?'`.
    let cron = env::var("IMPORT").unwrap_or_else(|_| "0 30 2 * * ?".into());
    let import = Job::new("import", Trigger::cron(&cron)?, import)
        .retries(3)
        .retry_delay(Duration::from_millis(500))
        .max_run(Duration::from_secs(3600))
        .misfire(Misfire::Once);
    let mut terminated = signal(SignalKind::terminate())?;
    let stop = async { _ = terminated.recv().await };
    // Runs that have begun have half a minute left: less than what Kubernetes gives to a pod that is to stop.
    Scheduler::new(&client, "shop").job(import).run_until(stop, Duration::from_secs(25)).await?;
    client.close(Duration::from_secs(3)).await?;
    Ok(())
}

async fn import(run: Run) -> anyhow::Result<()> {
    for file in ["orders.csv", "returns.csv"] {
        run.check()?; // the lock may be gone: another replica may have begun
        fetch(file, run.attempt()).await.with_context(|| format!("{file} cannot be had"))?;
    }
    run.set_output("imported two files");
    Ok(())
}

/// From a server that is not up to it at the first attempt.
async fn fetch(_file: &str, attempt: u32) -> anyhow::Result<()> {
    tokio::time::sleep(Duration::from_millis(50)).await;
    ensure!(attempt > 1, "the server is busy");
    Ok(())
}

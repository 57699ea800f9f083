//! A test with tokio's paused time: tasks, timers and leases advance together whenever all of them are idle.
#![allow(clippy::print_stdout, reason = "an example prints")]

use cotter::{Client, ErrorKind, Lease, Result};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The code under test: a report in three steps of 20 minutes.
async fn report(client: &Client) -> Result<&'static str> {
    let lease = Lease::fixed(Duration::from_secs(3600));
    let work = async |_: &_| {
        for _ in 0..3 {
            sleep(Duration::from_secs(1200)).await;
        }
        "done"
    };
    client.mutex("report").lease(lease).with(work).await
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<()> {
    let client = Client::builder().in_this_runtime().connect("memory:").await?;
    let start = Instant::now();
    let error = report(&client).await.expect_err("the work takes an hour, and so does the lease");
    assert_eq!(error.kind(), ErrorKind::Lost);
    // A part of every lease is not relied on, because clocks drift.
    assert!(start.elapsed() < Duration::from_secs(3600));
    println!("after {:?}, which took no time: {error}", start.elapsed());
    Ok(())
}

//! A job that stops when its lock is lost: during its work, between its steps, and in another task.
//!
//! With a Redis URL and longer steps, there is time to evict it: `cotter evict example:report`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use cotter::{Client, Result};
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "file:".to_owned());
    let client = Client::connect(url).await?;
    let guard = client.mutex("example:report").lock().await?;
    let lost = guard.lost();
    let progress = tokio::spawn(async move { println!("the progress bar ends: {}", lost.await.cause) });
    for step in 0..3 {
        guard.check()?;
        tokio::select! {
            lost = guard.lost() => return Err(lost.into()),
            () = tokio::time::sleep(Duration::from_millis(10)) => println!("step {step} done"),
        }
    }
    guard.finish().await?;
    progress.await.expect("it only prints");
    Ok(())
}

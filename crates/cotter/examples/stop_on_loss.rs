//! Program 2: a job that stops when its lock is lost: beside its work, between its steps, and in another task.
#![allow(clippy::print_stdout, reason = "an example talks")]

use cotter::{Client, Result};
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<()> {
    let client = Client::connect("memory:").await?;
    let guard = client.mutex("report").lock().await?;
    let lost = guard.lost();
    let progress = tokio::spawn(async move { println!("the end of it: {}", lost.await.cause) });
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

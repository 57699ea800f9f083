//! The loss of a lock as a `CancellationToken`, for code that stops by one.
#![allow(clippy::print_stdout, reason = "an example prints")]

use cotter::{Client, Guard, Result};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Cancelled when the lock is lost, and once the guard is released.
fn cancelled_with(guard: &Guard) -> CancellationToken {
    let (token, lost) = (CancellationToken::new(), guard.lost());
    let cancel = token.clone();
    tokio::spawn(async move {
        lost.await;
        cancel.cancel();
    });
    token
}

async fn serve(stop: CancellationToken) -> u32 {
    let mut served = 0;
    while !stop.is_cancelled() {
        tokio::time::sleep(Duration::from_millis(10)).await;
        served += 1;
    }
    served
}

#[tokio::main]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "file:".to_owned());
    let client = Client::connect(url).await?;
    let guard = client.mutex("example:server").lock().await?;
    let server = tokio::spawn(serve(cancelled_with(&guard)));
    tokio::time::sleep(Duration::from_millis(100)).await;
    // As an operator would with `cotter evict`; on `file:` the process has to be stopped, so the lock is released here.
    guard.finish().await?;
    println!("served {} requests", server.await.expect("it does not panic"));
    Ok(())
}

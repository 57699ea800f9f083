//! A hundred tasks that call an API which allows three calls at a time, whatever the number of processes.
#![allow(clippy::print_stdout, reason = "an example prints")]

use cotter::{Client, Result, Semaphore};
use std::time::Duration;
use tokio::task::JoinSet;

async fn call(api: Semaphore, order: u32) -> Result<u32> {
    let permit = api.acquire().await?;
    tokio::time::sleep(Duration::from_millis(10)).await; // the call
    permit.finish().await?;
    Ok(order)
}

#[tokio::main]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "file:".to_owned());
    let api = Client::connect(url).await?.semaphore("example:payment-api", 3);
    let mut calls: JoinSet<_> = (1..=100).map(|order| call(api.clone(), order)).collect();
    let mut done = 0;
    while let Some(order) = calls.join_next().await {
        order.expect("it does not panic")?;
        done += 1;
    }
    println!("{done} calls, at most three at a time");
    Ok(())
}

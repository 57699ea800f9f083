//! A call tree in which every level locks, also across `tokio::spawn`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use cotter::{Client, Owner, Result};

async fn outer(client: Client) -> Result<usize> {
    let guard = client.mutex("example:account:7").lock().await?;
    let me = Owner::current().expect("called in a scope");
    let holds = tokio::spawn(me.scope(inner(client))).await.expect("inner does not panic")?;
    guard.finish().await?;
    Ok(holds)
}

async fn inner(client: Client) -> Result<usize> {
    let guard = client.mutex("example:account:7").lock().await?;
    Ok(guard.holds())
}

#[tokio::main]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "file:".to_owned());
    let client = Client::connect(url).await?;
    let holds = Owner::new().scope(outer(client)).await?;
    println!("held {holds} times by one owner");
    Ok(())
}

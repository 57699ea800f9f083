//! Program 3: a call tree in which every level locks, also across `tokio::spawn`.
#![allow(clippy::print_stdout, reason = "an example talks")]

use cotter::{Client, Owner, Result};

async fn outer(client: Client) -> Result<u64> {
    let _guard = client.mutex("account:7").lock().await?;
    let me = Owner::current().expect("called in a scope");
    let task = tokio::spawn(me.scope(inner(client.clone())));
    task.await.expect("inner does not panic")
}

async fn inner(client: Client) -> Result<u64> {
    let guard = client.mutex("account:7").lock().await?;
    Ok(guard.holds() as u64)
}

#[tokio::main]
async fn main() -> Result<()> {
    let client = Client::connect("memory:").await?;
    let holds = Owner::new().scope(outer(client)).await?;
    println!("held {holds} times by one owner");
    Ok(())
}

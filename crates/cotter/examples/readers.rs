//! Program 7: readers, and a writer that goes on as a reader.
#![allow(clippy::print_stdout, reason = "an example talks")]

use cotter::{Client, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let client = Client::connect("memory:").await?;
    let catalogue = client.rwlock("catalogue");
    let writer = catalogue.write().await?;
    println!("rebuilding under token {}", writer.token());
    let reader = writer.downgrade().await?;
    let other = catalogue.try_read().await?;
    println!("now {} read it", 1 + u32::from(other.is_some()));
    assert!(catalogue.try_write().await?.is_none(), "nobody writes while we read");
    drop(reader);
    Ok(())
}

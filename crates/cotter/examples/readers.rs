//! Readers, and a writer that goes on as a reader.
#![allow(clippy::print_stdout, reason = "an example prints")]

use cotter::{Client, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "file:".to_owned());
    let catalogue = Client::connect(url).await?.rwlock("example:catalogue");
    let writer = catalogue.write().await?;
    println!("rebuilding under token {}", writer.token());
    let reader = writer.downgrade().await?;
    let other = catalogue.read().await?;
    println!("two read it");
    assert!(catalogue.try_write().await?.is_none(), "nobody writes meanwhile");
    other.finish().await?;
    reader.finish().await
}

//! A leader that publishes its address in a note, and observers that tell a current leader from one that is gone.
//!
//! The note outlives the lock, so its address alone proves nothing. It carries the token of its writer: the leader is the
//! holder with that token.
#![allow(clippy::print_stdout, reason = "an example prints")]

use cotter::{Client, Result};
use std::time::Duration;

const NAME: &str = "example:leader";

/// The address of the current leader, if there is one.
async fn leader(client: &Client) -> Result<Option<String>> {
    let (Some(note), Some(record)) = (client.note(NAME).await?, client.holder(NAME).await?) else {
        return Ok(None);
    };
    let leads = record.holders.iter().any(|holder| holder.token == note.token);
    Ok(leads.then(|| String::from_utf8_lossy(&note.bytes).into_owned()))
}

#[tokio::main]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "file:".to_owned());
    let client = Client::connect(url).await?;
    let guard = client.mutex(NAME).lock().await?;
    let seen = client.note(NAME).await?.map_or(0, |note| note.revision);
    guard.put_note(format!("10.0.0.7:{}", std::process::id())).await?;
    // An observer is woken by the change.
    let changed = client.note_changed(NAME, "", seen, Duration::from_secs(1)).await?;
    println!("told of {:?}", changed.map(|note| note.token));
    println!("led by {:?}", leader(&client).await?);
    guard.finish().await?;
    println!("led by {:?}", leader(&client).await?);
    client.close(Duration::from_secs(5)).await
}

//! Program 8: a migration that runs once, however many replicas start at the same moment.
//!
//! The lock only makes the replicas take turns. What makes the migration run *once* is the note that each of them reads
//! after it got the lock: whoever comes second finds the work done.
//!
//! `COTTER_URL=redis://db-1 cargo run --features redis --example migration`
#![allow(clippy::print_stdout, reason = "an example talks")]

use cotter::{Client, Result};
use std::time::Duration;

const SCHEMA: &[u8] = b"42";

fn main() -> Result<()> {
    let url = std::env::var("COTTER_URL").unwrap_or_else(|_| "file:".to_owned());
    let client = Client::builder().url(url).label("migrate").connect().wait()?;
    match client.mutex("schema").try_lock_for(Duration::from_secs(60)).wait()? {
        Some(guard) => {
            let note = client.note("schema").wait()?;
            if note.is_some_and(|note| note.bytes == SCHEMA) {
                println!("the schema is up to date");
            } else {
                println!("migrating under token {}", guard.token());
                guard.put_note(SCHEMA).wait()?;
            }
            guard.finish().wait()?;
        }
        None => println!("another replica is still migrating after 60 s"),
    }
    client.close(Duration::from_secs(5)).wait()
}

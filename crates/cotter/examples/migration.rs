//! A migration that runs once, however many replicas start at the same moment.
//!
//! The lock only makes the replicas take turns. What makes the migration run *once* is the note that each of them reads
//! under the lock: all but the first find the work done.
//!
//! `cargo run --features redis --example migration redis://db-1`
#![allow(clippy::print_stdout, reason = "an example prints")]

use cotter::{Client, Result};
use std::time::Duration;

const SCHEMA: &[u8] = b"42";

fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "file:".to_owned());
    let client = Client::builder().label("migrate").connect(url).wait()?;
    match client.mutex("example:schema").try_lock_for(Duration::from_secs(60)).wait()? {
        Some(guard) => {
            let note = client.note("example:schema").wait()?;
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

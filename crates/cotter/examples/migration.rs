//! Program 8: a migration that runs once, closes its client, and exits.
#![allow(clippy::print_stdout, reason = "an example talks")]

use cotter::{Client, Result};
use std::time::Duration;

fn main() -> Result<()> {
    let client = Client::builder().url("memory:").label("migrate").connect().wait()?;
    match client.mutex("schema").try_lock_for(Duration::from_secs(60)).wait()? {
        Some(guard) => {
            println!("migrating under token {}", guard.token());
            guard.put_note("schema 42").wait()?;
            guard.release().wait()?;
        }
        None => println!("another instance is at it"),
    }
    client.close(Duration::from_secs(5)).wait()
}

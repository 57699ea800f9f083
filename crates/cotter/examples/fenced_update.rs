//! Program 4: an SQL update that the database refuses from a stale holder.
#![allow(clippy::print_stdout, reason = "an example talks")]

use cotter::{Client, Result};
use rusqlite::{Connection, params};

const UPDATE: &str =
    "UPDATE stock SET left = left - 1, fence = ?1 WHERE item = ?2 AND fence <= ?1 AND left > 0";

#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let db = Connection::open_in_memory()?;
    db.execute_batch("CREATE TABLE stock(item TEXT PRIMARY KEY, left INTEGER, fence INTEGER);")?;
    db.execute("INSERT INTO stock VALUES ('phone', 10, 0)", [])?;
    let (older, newer) = two_holders().await?;
    assert_eq!(db.execute(UPDATE, params![newer, "phone"])?, 1);
    assert_eq!(db.execute(UPDATE, params![older, "phone"])?, 0, "the stale holder changes nothing");
    println!("one of two writes was admitted");
    Ok(())
}

/// The first one was paused for longer than its lease, so to say.
async fn two_holders() -> Result<(i64, i64)> {
    let client = Client::connect("memory:").await?;
    let older = client.mutex("phone").lock().await?.token();
    let newer = client.mutex("phone").lock().await?.token();
    Ok((older.as_i64(), newer.as_i64()))
}

//! An SQL update that the database rejects from a stale holder.
//!
//! SQLite here; the same in PostgreSQL, with the token as a `bigint`:
//!
//! ```sql
//! ALTER TABLE stock ADD COLUMN fence bigint NOT NULL DEFAULT 0;
//! UPDATE stock SET in_stock = in_stock - 1, fence = $1 WHERE item = $2 AND fence <= $1 AND in_stock > 0;
//! ```
//!
//! with `client.execute(UPDATE, &[&token.as_i64(), &"phone"])`. Zero rows mean: a later holder was here, or nothing is left.
#![allow(clippy::print_stdout, reason = "an example prints")]

use cotter::Client;
use rusqlite::{Connection, params};

const UPDATE: &str =
    "UPDATE stock SET in_stock = in_stock - 1, fence = ?1 WHERE item = ?2 AND fence <= ?1 AND in_stock > 0";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let db = Connection::open_in_memory()?;
    db.execute_batch("CREATE TABLE stock(item TEXT PRIMARY KEY, in_stock INTEGER, fence INTEGER);")?;
    db.execute("INSERT INTO stock VALUES ('phone', 10, 0)", [])?;
    let url = std::env::args().nth(1).unwrap_or_else(|| "file:".to_owned());
    let lock = Client::connect(url).await?.mutex("example:phone");
    // The first holder was paused for longer than its lease, and does not know it yet.
    let stale = lock.lock().await?.token();
    let current = lock.lock().await?;
    assert_eq!(db.execute(UPDATE, params![current.token().as_i64(), "phone"])?, 1);
    assert_eq!(db.execute(UPDATE, params![stale.as_i64(), "phone"])?, 0, "the stale holder changes nothing");
    current.finish().await?;
    println!("one of two writes was admitted");
    Ok(())
}

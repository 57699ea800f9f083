//! `sqlite:`: many leases that are renewed, and whether any is late. There is no server: all of the processor time is this process's.

use crate::redis::two_workers;
use crate::renewal::{GUARDS, TTL, take, watch};
use cotter::{Client, Lease, sqlite::Store};
use rusqlite::{Connection, OpenFlags};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Of so many leases the rows are looked at.
const SAMPLE: usize = 500;

pub(crate) fn renewal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("locks.db");
    Client::builder().migrate_store(Store::at(&path)).wait().unwrap();
    let store = Store::at(&path);
    let client = Client::builder().lease(Lease::renewed(TTL)).connect_to(store).wait().unwrap();
    let guards = take(&two_workers(), &client, GUARDS);
    let is_over = AtomicBool::new(false);
    let (elapsed, changes) = thread::scope(|scope| {
        let changes = scope.spawn(|| changes(&path, &is_over));
        let elapsed = watch(&guards, || Duration::ZERO);
        is_over.store(true, Ordering::Release);
        (elapsed, changes.join().unwrap())
    });
    let rows = changes as f64 * GUARDS as f64 / SAMPLE as f64 / elapsed.as_secs_f64();
    println!("{rows:.0} rows a second, each read by one statement and replaced by another");
}

/// How often the rows of the sample have changed.
fn changes(path: &Path, is_over: &AtomicBool) -> u64 {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let look = "SELECT name, state FROM cotter_locks WHERE name >= ?1 AND name < ?2";
    let mut look = database.prepare(look).unwrap();
    let (mut seen, mut changes) = (HashMap::new(), 0);
    while !is_over.load(Ordering::Acquire) {
        let rows =
            look.query_map(["renewed:0:", "renewed:0;"], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        for row in rows {
            let (name, state): (String, rusqlite::types::Value) = row.unwrap();
            changes += u64::from(seen.insert(name, state.clone()).is_some_and(|before| before != state));
        }
        thread::sleep(Duration::from_secs(1));
    }
    changes
}

//! Steps that many tests take.

use cotter::Client;
use std::thread;
use std::time::{Duration, Instant};

/// Waits until it happens, or fails.
#[track_caller]
pub(crate) fn until(within: Duration, what: &str, mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < within, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// How many wait for the lock "a".
pub(crate) fn waiters(client: &Client) -> u32 {
    client.holder("a").wait().unwrap().and_then(|record| record.waiters).unwrap_or(0)
}

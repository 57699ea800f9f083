//! An uncontended pair: lock and release, in one task, with and without an observer.

use crate::rounds::compare;
use cotter::Client;
use std::sync::Arc;
use std::time::Instant;

const PAIRS: u32 = 100_000;

pub(crate) fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = Client::connect("memory:").wait().unwrap();
    let observed = Client::builder().observe(|_| {}).connect("memory:").wait().unwrap();
    let plain = Arc::new(tokio::sync::Mutex::new(()));
    let mut tokio_mutex = || {
        runtime.block_on(async {
            let start = Instant::now();
            for _ in 0..PAIRS {
                drop(plain.clone().lock_owned().await);
            }
            start.elapsed().as_secs_f64() / f64::from(PAIRS) * 1e6
        })
    };
    let released = |client: &Client| {
        runtime.block_on(async {
            let mutex = client.mutex("pair");
            let start = Instant::now();
            for _ in 0..PAIRS {
                mutex.lock().await.unwrap().finish().await.unwrap();
            }
            start.elapsed().as_secs_f64() / f64::from(PAIRS) * 1e6
        })
    };
    let mut dropped = || {
        runtime.block_on(async {
            let mutex = client.mutex("pair");
            let start = Instant::now();
            for _ in 0..PAIRS {
                drop(mutex.lock().await.unwrap());
            }
            start.elapsed().as_secs_f64() / f64::from(PAIRS) * 1e6
        })
    };
    compare(
        "microseconds per pair",
        &mut [
            ("tokio::sync::Mutex", &mut tokio_mutex),
            ("memory: lock, release", &mut || released(&client)),
            ("memory: the same, observed", &mut || released(&observed)),
            ("memory: lock, drop", &mut dropped),
        ],
    );
}

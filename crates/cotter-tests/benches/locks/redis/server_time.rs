//! What one call costs the server.

use super::raw::{Scripts, wire};
use super::{cost, runtime, server};
use cotter::{Client, Lease};
use cotter_testkit::servers::Redis;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

const PAIRS: usize = 20_000;
const HANDOVERS: usize = 2_000;

pub(crate) fn run() {
    let server = server();
    let (runtime, scripts) = (runtime(), Scripts::load(&server));
    let mut wire = runtime.block_on(wire(&server));
    let mut measured = [0.0; 2];
    for (i, figure) in measured.iter_mut().enumerate() {
        // The first of two rounds warms up.
        for _ in 0..2 {
            server.command(&["CONFIG", "RESETSTAT"]);
            runtime.block_on(async {
                for _ in 0..PAIRS {
                    if i == 0 { scripts.native(&mut wire).await } else { scripts.set(&mut wire).await }
                }
            });
            *figure = cost(&server, "evalsha", "usec_per_call") * if i == 0 { 2.0 } else { 1.0 };
        }
    }
    let [pair, set] = measured;
    println!(
        "server time of the native pair {pair:.2} us, of SET NX PX in a script {set:.2} us: {:.2}",
        pair / set
    );
    let few = handovers(&server, &runtime, 10, |_| false);
    let many = handovers(&server, &runtime, 10_000, |_| false);
    println!(
        "server time of a hand-over and the next question with 10 waiters {few:.2} us, with 10,000 {many:.2} us: {:.2}",
        many / few
    );
}

/// Each of them in the server's queue, and back at its end when it was served, some of them as readers: microseconds for one
/// turn.
pub(super) fn handovers(
    server: &Redis,
    runtime: &Runtime,
    waiters: usize,
    is_reader: fn(usize) -> bool,
) -> f64 {
    server.command(&["FLUSHALL"]);
    let lease = Lease::renewed(Duration::from_secs(60));
    let builder = Client::builder().lease(lease).local_turns(false);
    let client = builder.connect(server.open_url("")).wait().unwrap();
    let (lock, turns) = (client.rwlock("line"), Arc::new(AtomicUsize::new(0)));
    runtime.block_on(async {
        let first = lock.write().await.unwrap();
        let mut line = JoinSet::new();
        for i in 0..waiters {
            let (lock, turns) = (lock.clone(), turns.clone());
            line.spawn(async move {
                loop {
                    if is_reader(i) {
                        lock.read().await.unwrap().finish().await.unwrap();
                    } else {
                        lock.write().await.unwrap().finish().await.unwrap();
                    }
                    turns.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        while server.command(&["ZCARD", "cotter:{line}:q"]) != waiters.to_string() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        server.command(&["CONFIG", "RESETSTAT"]);
        turns.store(0, Ordering::Relaxed);
        drop(first);
        while turns.load(Ordering::Relaxed) < HANDOVERS {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    cost(server, "evalsha", "usec") / turns.load(Ordering::Relaxed) as f64
}

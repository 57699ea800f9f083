//! What one call on a shared name costs the server, with few and with many holders or waiters.

use super::server_time::handovers;
use super::{cost, runtime, server};
use cotter::backend::{Backend, Claim, Grant, Leave, Mode, Until};
use cotter_testkit::bare::{backend, claim, take};
use cotter_testkit::servers::Redis;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

const PAIRS: usize = 10_000;
const LONG: Duration = Duration::from_secs(600);

pub(crate) fn run() {
    let (server, runtime) = (server(), runtime());
    let readers = [10, 1_000].map(|n| beside(&server, &runtime, n, Mode::Shared));
    report("an acquisition and a release with 10 readers", "1,000", readers.map(|(pair, _)| pair));
    report("a renewal with 10 readers", "1,000", readers.map(|(_, renewal)| renewal));
    let holders =
        [10, 1_000].map(|n| beside(&server, &runtime, n, Mode::Permits { take: 1, of: n as u32 + 1 }));
    report("an acquisition and a release with 10 holders of permits", "1,000", holders.map(|(pair, _)| pair));
    report("a renewal with 10 holders of permits", "1,000", holders.map(|(_, renewal)| renewal));
    // Every fifth is a writer.
    let waiters = [10, 5_000].map(|n| handovers(&server, &runtime, n, |i| i % 5 != 0));
    report("a turn with 10 readers and writers in the queue", "5,000", waiters);
}

fn report(what: &str, many: &str, [few_us, many_us]: [f64; 2]) {
    println!("server time of {what} {few_us:.2} us, with {many} {many_us:.2} us: {:.2}", many_us / few_us);
}

fn claim_as(mode: Mode) -> Claim {
    let mut claim = claim("shared", LONG);
    claim.mode = mode;
    claim
}

/// Microseconds for one more who comes and goes beside so many holders, and for the renewal of one of those.
fn beside(server: &Redis, runtime: &Runtime, holders: usize, mode: Mode) -> (f64, f64) {
    server.command(&["FLUSHALL"]);
    runtime.block_on(async {
        let backend = backend(&server.open_url("")).await;
        let mut grants = Vec::new();
        for _ in 0..holders {
            grants.push(take(&backend, &claim_as(mode)).await);
        }
        // The first of two rounds warms up.
        let mut measured = (0.0, 0.0);
        for _ in 0..2 {
            measured = (pairs(server, &backend, mode).await, renewals(server, &backend, &grants).await);
        }
        measured
    })
}

async fn pairs(server: &Redis, backend: &Arc<dyn Backend>, mode: Mode) -> f64 {
    server.command(&["CONFIG", "RESETSTAT"]);
    for _ in 0..PAIRS {
        let claim = claim_as(mode);
        let granted = backend.acquire(&claim, Until::Now).await.unwrap().granted();
        assert!(granted.is_some(), "there is room for one more");
        let _ = backend.release(&claim, Leave::used(1)).await.unwrap();
    }
    cost(server, "evalsha", "usec") / PAIRS as f64
}

async fn renewals(server: &Redis, backend: &Arc<dyn Backend>, grants: &[Grant]) -> f64 {
    server.command(&["CONFIG", "RESETSTAT"]);
    for i in 0..PAIRS {
        backend.extend(&[&grants[i % grants.len()]], LONG * 2 + Duration::from_secs(i as u64)).await;
    }
    cost(server, "evalsha", "usec") / PAIRS as f64
}

//! The contract through sentinels.

use super::Watched;
use cotter::conformance::{CASES, Fixture, run};
use cotter::redis::Store;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most of the cases wait most of the time.
const THREADS: usize = 16;

/// Every case, on one master, each under a prefix of its own.
#[test]
#[ignore = "needs redis-server"]
fn the_contract_holds_through_sentinels() {
    let (watched, next) = (Watched::start(), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(case) = CASES.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let url = watched.sentinels.url(&format!("prefix=cotter:{case}"));
                    run(case, Fixture::sharing(Store::from_url(url).unwrap()));
                }
            });
        }
    });
}

//! The contract on a cluster.

use super::PATIENT;
use super::declared::Watch;
use cotter::conformance::{CASES, Fixture, run};
use cotter::redis::Store;
use cotter_testkit::servers::RedisCluster;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most of the cases wait most of the time.
const THREADS: usize = 16;

/// Every case, each under a prefix of its own, so that their names are on all masters. No script touches a key that it is not given.
#[test]
#[ignore = "needs redis-server"]
fn the_contract_holds_on_a_cluster() {
    let cluster = RedisCluster::start(PATIENT);
    let watches: Vec<_> = cluster.nodes[..3].iter().map(Watch::start).collect();
    run_all(&cluster, "");
    for watch in watches {
        watch.end().demand_given_keys(100);
    }
    for mode in ["mode=plain&retry=5ms", "mode=getset"] {
        run_all(&cluster, mode);
    }
}

fn run_all(cluster: &RedisCluster, mode: &str) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(case) = CASES.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let url = cluster.url(&format!("prefix=cotter:{case}&{mode}"));
                    run(case, Fixture::sharing(Store::from_url(url).unwrap()));
                }
            });
        }
    });
}

//! The ZooKeeper client and a server in memory, by seeds. `scripts/test` tries thousands of others.

use cotter_testkit::history::{Kind, demand};
use cotter_testkit::simulation::{Store, ZooKeeperDialect, many, many_unpolled};
use cotter_testkit::sized;

const THREADS: usize = 2;

#[test]
fn many_seeds() {
    let seeds = 0..sized(30, 20_000) as u64;
    if let Err(failure) = many(Store::ZooKeeper(ZooKeeperDialect::Own), seeds, THREADS) {
        panic!("{failure}");
    }
}

/// In the nodes of others as well, which have no permits, or no shared locks.
#[test]
fn nothing_depends_on_who_polls() {
    for (_, store) in Store::all().into_iter().filter(|(_, store)| matches!(store, Store::ZooKeeper(_))) {
        let stories =
            many_unpolled(store, 0..sized(15, 2_000) as u64).unwrap_or_else(|e| panic!("{store}: {e}"));
        let enough = stories.held > 60 && stories.dropped > 60 && stories.faults > 150;
        demand(enough, Kind::Void, stories.to_string());
    }
}

//! The Redis client, its scripts and a server in memory, by seeds. `scripts/test` tries thousands of others.

use cotter_testkit::history::{Kind, demand};
use cotter_testkit::simulation::{RedisMode, Store, many, many_unpolled};
use cotter_testkit::sized;

const THREADS: usize = 2;

#[test]
fn many_seeds() {
    if let Err(failure) = many(Store::Redis(RedisMode::Native), 0..sized(60, 20_000) as u64, THREADS) {
        panic!("{failure}");
    }
}

#[test]
fn nothing_depends_on_who_polls() {
    let stories = many_unpolled(Store::Redis(RedisMode::Native), 0..sized(100, 10_000) as u64)
        .unwrap_or_else(|e| panic!("{e}"));
    let enough = stories.held > 400 && stories.dropped > 400 && stories.faults > 100;
    demand(enough, Kind::Void, stories.to_string());
}

/// Stores that lack permits, notes or tickets are asked for none.
#[test]
fn nothing_depends_on_who_polls_in_other_modes() {
    for (_, store) in Store::all().into_iter().filter(|(_, store)| matches!(store, Store::Redis(_))) {
        let stories =
            many_unpolled(store, 0..sized(20, 2_000) as u64).unwrap_or_else(|e| panic!("{store}: {e}"));
        let enough = stories.held > 80 && stories.dropped > 80 && stories.faults > 20;
        demand(enough, Kind::Void, stories.to_string());
    }
}

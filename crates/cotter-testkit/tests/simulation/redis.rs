//! The Redis client, its scripts and a server in memory, by seeds. `scripts/test` tries thousands of others.

use cotter_testkit::history::{Kind, demand};
use cotter_testkit::simulation::{RedisMode, Store, many, unpolled};
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
    let (mut held, mut dropped, mut faults) = (0, 0, 0);
    for seed in 0..sized(100, 10_000) as u64 {
        let story = unpolled(Store::Redis(RedisMode::Native), seed);
        if let Some(violation) = story.violations.first() {
            panic!("{violation}, with seed {seed}:\n{}", story.history.join("\n"));
        }
        let counts = story.counts;
        (held, dropped) = (held + story.held, dropped + story.dropped);
        faults += counts.lost_replies + counts.late_requests + counts.refused;
    }
    let figures = format!("{held} held, {dropped} dropped before they were done, {faults} faults");
    demand(held > 400 && dropped > 400 && faults > 100, Kind::Void, figures);
}

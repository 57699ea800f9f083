//! Some seeds of the simulation, and that a seed repeats. Each run of `scripts/test` tries thousands, others with each commit.

#[cfg(feature = "etcd-in-memory")]
mod etcd;
#[cfg(feature = "redis-in-memory")]
mod redis;
mod unpolled;
#[cfg(feature = "zookeeper-in-memory")]
mod zookeeper;

use cotter_testkit::history::{Kind, demand};
use cotter_testkit::simulation::{Appends, Crowd, Store, many, replay, simulate};
use cotter_testkit::sized;
use std::io::Write;
use std::time::Duration;

const THREADS: usize = 2;
const LOCKS: usize = 200;

#[test]
fn many_seeds() {
    if let Err(failure) = many(Store::Members, 0..60, THREADS) {
        panic!("{failure}");
    }
}

#[test]
fn a_seed_repeats_exactly() {
    for seed in 0..sized(8, 200) {
        let (one, other) = (replay(Store::Members, seed), replay(Store::Members, seed));
        let differs = one.history.iter().zip(&other.history).position(|(a, b)| a != b);
        if let Some(at) = differs {
            panic!("seed {seed}, line {at}: {:?} and {:?}", one.history[at], other.history[at]);
        }
        assert_eq!(one.history.len(), other.history.len(), "seed {seed}");
        assert!(one.history.len() > LOCKS, "it is not empty");
    }
}

/// Otherwise the replay of a seed that has failed might show nothing.
#[test]
fn a_run_is_the_same_whether_its_history_is_written_or_not() {
    for seed in 0..8 {
        let (written, unwritten) = (replay(Store::Members, seed), simulate(Store::Members, seed));
        assert_eq!(
            (written.cycles, written.counts, written.simulated),
            (unwritten.cycles, unwritten.counts, unwritten.simulated),
            "seed {seed}"
        );
        assert!(unwritten.history.is_empty(), "nobody reads it");
    }
}

/// Twenty clients that ask three members at the same time share their votes. Requests take up to 20 ms.
#[test]
fn somebody_wins_within_ten_round_trips() {
    const ROUND_TRIP: Duration = Duration::from_millis(20);
    let crowd = |seed| Crowd { seed, clients: 20, members: 3, round_trip: ROUND_TRIP, wins: 150 };
    let mut pauses: Vec<_> = (0..sized(4, 100)).flat_map(|seed| crowd(seed).pauses()).collect();
    pauses.sort_unstable();
    let (median, late) = (pauses[pauses.len() / 2], pauses[pauses.len() * 99 / 100]);
    let figures =
        format!("{} times, within {median:?} at the median, {late:?} at the 99th percentile", pauses.len());
    let _ = writeln!(std::io::stdout(), "{figures}");
    demand(late < 10 * ROUND_TRIP, Kind::StuckWaiter, figures);
}

/// Processes that append to a note by compare-and-set, over links that fail: what one of them has seen stays.
#[test]
fn no_swap_is_lost() {
    let (mut written, mut unknown, mut refused, mut faults) = (0, 0, 0, 0);
    for seed in 0..sized(300, 20_000) as u64 {
        let appends = Appends { seed, clients: 4, members: if seed % 3 == 0 { 5 } else { 3 }, each: 12 };
        let log = appends.run();
        if let Some(violation) = log.violations().first() {
            panic!("{violation}, with seed {seed}");
        }
        (written, unknown, refused) = (written + log.written, unknown + log.unknown, refused + log.refused());
        faults += log.faults;
    }
    let figures = format!("{written} written, {refused} refused, {unknown} unknown, {faults} faults");
    let _ = writeln!(std::io::stdout(), "{figures}");
    demand(written > refused / 10 && faults > written / 2, Kind::Void, figures);
}

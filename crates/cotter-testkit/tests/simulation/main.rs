//! Many seeds of the simulation, and that a seed repeats.

use cotter_testkit::history::{Kind, demand};
use cotter_testkit::simulation::simulate;
use cotter_testkit::sized;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const THREADS: usize = 2;
const LOCKS: usize = 200;
const FAULTS: usize = 10;

/// Runs seeds until one is wrong.
fn many(seeds: std::ops::Range<u64>) {
    let next = AtomicU64::new(seeds.start);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            let outcome = simulate(seed);
            if let Some(violation) = outcome.violations.first() {
                panic!("{violation}; see scripts/simulate --seed {seed}");
            }
            let faults =
                outcome.cuts + outcome.restarts + outcome.counts.lost_replies + outcome.counts.refused;
            let enough = outcome.cycles >= LOCKS && faults >= FAULTS;
            demand(enough, Kind::Void, format!("seed {seed}: {} locks, {faults} faults", outcome.cycles));
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            thread.join().unwrap_or_else(|e| std::panic::resume_unwind(e));
        }
    });
}

#[test]
fn many_seeds() {
    many(0..sized(60, 100_000));
}

#[test]
fn a_seed_repeats_exactly() {
    for seed in 0..sized(8, 200) {
        let (one, other) = (simulate(seed), simulate(seed));
        let differs = one.history.iter().zip(&other.history).position(|(a, b)| a != b);
        if let Some(at) = differs {
            panic!("seed {seed}, line {at}: {:?} and {:?}", one.history[at], other.history[at]);
        }
        assert_eq!(one.history.len(), other.history.len(), "seed {seed}");
        assert!(one.history.len() > LOCKS, "it is not empty");
    }
}

//! Many seeds on all cores, and what they have come to.

use super::run::{CYCLES, Outcome, simulate};
use super::store::Store;
use crate::faulty::Counts;
use crate::history::{Kind, Violation, violation};
use std::fmt;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// A run in which less than this went wrong proves nothing.
const FAULTS: usize = 10;

/// The results of many runs.
#[derive(Debug, Clone)]
pub struct Totals {
    /// Runs.
    pub seeds: u64,
    /// Locks that were held.
    pub locks: usize,
    /// Requests that went wrong.
    pub counts: Counts,
    /// Links that were cut.
    pub cuts: usize,
    /// Members that were restarted.
    pub restarts: usize,
    /// The time that passed in the runs.
    pub simulated: Duration,
    /// The locks and the faults of the run that had the fewest.
    pub fewest: (usize, usize),
}

/// A run that went wrong.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What the locks were in.
    pub store: Store,
    /// Its seed.
    pub seed: u64,
    /// How.
    pub violation: Violation,
}

/// Runs all of these seeds, several at a time.
///
/// # Errors
/// A run that went wrong, or in which too little went on. The others are not finished then.
pub fn many(store: Store, seeds: Range<u64>, threads: usize) -> Result<Totals, Failure> {
    let next = AtomicU64::new(seeds.start);
    let work = || {
        let mut totals = Totals::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return Ok(totals);
            }
            let outcome = simulate(store, seed);
            if let Some(violation) = wrong(&outcome) {
                next.store(seeds.end, Ordering::Relaxed);
                return Err(Failure { store, seed, violation });
            }
            totals.count(&outcome);
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|e| resume_unwind(e)));
        let (passed, failed): (Vec<_>, Vec<_>) = joined.partition(Result::is_ok);
        // Of several that fail, which thread had which seed is chance, and the smallest has always been tried.
        match failed.into_iter().filter_map(Result::err).min_by_key(|failure| failure.seed) {
            Some(failure) => Err(failure),
            None => Ok(passed.into_iter().flatten().fold(Totals::default(), Totals::and)),
        }
    })
}

fn wrong(outcome: &Outcome) -> Option<Violation> {
    let (locks, faults) = (outcome.cycles, outcome.faults());
    let void = locks < CYCLES || faults < FAULTS;
    let void = void.then(|| violation(Kind::Void, format!("only {locks} locks and {faults} faults")));
    outcome.violations.first().cloned().or(void)
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            seeds: 0,
            locks: 0,
            counts: Counts::default(),
            cuts: 0,
            restarts: 0,
            simulated: Duration::ZERO,
            fewest: (usize::MAX, usize::MAX),
        }
    }
}

impl Totals {
    fn count(&mut self, outcome: &Outcome) {
        self.seeds += 1;
        self.locks += outcome.cycles;
        self.counts = self.counts.and(outcome.counts);
        self.cuts += outcome.cuts;
        self.restarts += outcome.restarts;
        self.simulated += outcome.simulated;
        let (locks, faults) = self.fewest;
        self.fewest = (locks.min(outcome.cycles), faults.min(outcome.faults()));
    }

    fn and(self, other: Self) -> Self {
        Self {
            seeds: self.seeds + other.seeds,
            locks: self.locks + other.locks,
            counts: self.counts.and(other.counts),
            cuts: self.cuts + other.cuts,
            restarts: self.restarts + other.restarts,
            simulated: self.simulated + other.simulated,
            fewest: (self.fewest.0.min(other.fewest.0), self.fewest.1.min(other.fewest.1)),
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { lost_replies, late_requests, refused, .. } = self.counts;
        let (locks, faults) = self.fewest;
        let hours = self.simulated.as_secs_f64() / 3600.0;
        writeln!(f, "{} seeds, {} locks, {hours:.1} hours simulated", self.seeds, self.locks)?;
        writeln!(
            f,
            "{} links cut, {} members restarted, {lost_replies} replies lost, {late_requests} requests late, {refused} refused",
            self.cuts, self.restarts
        )?;
        write!(f, "at least {locks} locks and {faults} faults in each")
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; see scripts/simulate --store {} --seed {}", self.violation, self.store, self.seed)
    }
}

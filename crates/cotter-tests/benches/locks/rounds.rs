//! Interleaved rounds, so that a machine whose speed drifts is fair to all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// At least five, as min, median and max are quoted.
pub(crate) const ROUNDS: usize = 7;

pub(crate) struct Series {
    name: &'static str,
    values: Vec<f64>,
}

impl Series {
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }
}

/// Runs all measures in turn, after one warm-up of each, and prints a row for each: min, median, max, and the median of
/// its ratio to the first one.
pub(crate) fn compare(unit: &str, measures: &mut [(&'static str, &mut dyn FnMut() -> f64)]) -> Vec<Series> {
    let mut series: Vec<Series> =
        measures.iter().map(|(name, _)| Series { name, values: Vec::new() }).collect();
    for round in 0..=ROUNDS {
        for (s, (_, measure)) in series.iter_mut().zip(measures.iter_mut()) {
            let value = measure();
            if round > 0 {
                s.values.push(value);
            }
        }
    }
    println!("{:<44} {:>12} {:>12} {:>12} {:>8}", unit, "min", "median", "max", "ratio");
    let base = series[0].values.clone();
    for s in &series {
        let mut ratios: Vec<f64> = s.values.iter().zip(&base).map(|(v, b)| v / b).collect();
        ratios.sort_by(f64::total_cmp);
        let (min, max) = s.values.iter().fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(*v), b.max(*v)));
        println!(
            "{:<44} {min:>12.3} {:>12.3} {max:>12.3} {:>8.2}",
            s.name,
            s.median(),
            ratios[ratios.len() / 2]
        );
    }
    series
}

/// So many tasks, each doing pair after pair for this long: thousands of pairs a second.
pub(crate) fn thousands<F: Future<Output = ()> + Send>(
    runtime: &Runtime,
    round: Duration,
    tasks: usize,
    pair: impl Fn(usize) -> F + Send + Sync + 'static,
) -> f64 {
    let (pair, done) = (Arc::new(pair), Arc::new(AtomicU64::new(0)));
    let start = Instant::now();
    runtime.block_on(async {
        let mut set = JoinSet::new();
        for task in 0..tasks {
            let (pair, done) = (pair.clone(), done.clone());
            set.spawn(async move {
                while start.elapsed() < round {
                    pair(task).await;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        set.join_all().await;
    });
    done.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64() / 1e3
}

/// Least, middle and largest of an odd number of rounds.
pub(crate) fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [values[0], values[values.len() / 2], values[values.len() - 1]]
}

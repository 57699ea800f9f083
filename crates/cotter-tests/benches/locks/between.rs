//! From a release in one process to holding in another, beside a bare message from process to process.

use crate::children::Other;
use crate::rounds::spread;
use tokio::runtime::Runtime;

/// A way to wake another process, and what it needs here.
pub(crate) struct Kind<B> {
    pub(crate) name: &'static str,
    pub(crate) other: Other,
    pub(crate) by: B,
    rounds: [Vec<f64>; 2],
}

const ROUNDS: usize = 3;

impl<B> Kind<B> {
    pub(crate) fn new(name: &'static str, other: Other, by: B) -> Self {
        Self { name, other, by, rounds: Default::default() }
    }
}

/// Runs all of them in turn, and prints a row for each; the first one is the bare message. `times`: the microseconds of a
/// round, sorted.
pub(crate) fn compare_kinds<B>(
    runtime: &Runtime,
    mut kinds: Vec<Kind<B>>,
    times: impl AsyncFn(&mut Kind<B>) -> Vec<f64>,
) {
    for round in 0..=ROUNDS {
        for kind in &mut kinds {
            let times = runtime.block_on(times(kind));
            let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
            if round > 0 {
                [0.5, 0.99].iter().zip(&mut kind.rounds).for_each(|(part, row)| row.push(at(*part)));
            }
        }
    }
    println!("microseconds to another process, in each of {ROUNDS} rounds: min, median, max of the rounds");
    let message = spread(kinds[0].rounds[0].clone())[1];
    for kind in kinds {
        let [median, late] = kind.rounds.map(spread);
        println!(
            "{:<14} median {:>8.0} {:>8.0} {:>8.0}   99 % within {:>8.0} {:>8.0} {:>8.0}   {:.2} times a message",
            kind.name,
            median[0],
            median[1],
            median[2],
            late[0],
            late[1],
            late[2],
            median[1] / message
        );
        kind.other.end();
    }
}

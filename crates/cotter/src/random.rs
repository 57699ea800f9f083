//! Random numbers of the operating system: ids that never repeat, and jitter.
//!
//! Each thread keeps a few, so that not every id costs a system call. Only a few, because the copies of a virtual machine
//! that is restored from a snapshot all use up what was kept, and then draw apart.

use crate::sys::Identity;
use std::cell::RefCell;

/// The ids that one call to the system is good for.
const KEPT: usize = 16;

thread_local! {
    static STOCK: RefCell<Stock> = const { RefCell::new(Stock { numbers: [0; KEPT], left: 0, process: None, seed: None }) };
}

#[derive(Debug)]
struct Stock {
    numbers: [u128; KEPT],
    left: usize,
    /// A forked child has a copy of what its parent kept, and must not use the same numbers.
    process: Option<Identity>,
    /// Where a simulation is, whose numbers are not random.
    seed: Option<u64>,
}

impl Stock {
    /// Which process this is has to be asked of the system, and is only where it matters.
    fn take(&mut self, process: impl FnOnce() -> Identity) -> u128 {
        if let Some(seed) = &mut self.seed {
            return u128::from(next(seed)) << 64 | u128::from(next(seed));
        }
        let process = process();
        if self.left == 0 || self.process != Some(process) {
            let mut bytes = [0; KEPT * 16];
            getrandom::fill(&mut bytes).expect("the system has random numbers");
            for (number, bytes) in self.numbers.iter_mut().zip(bytes.chunks_exact(16)) {
                *number = u128::from_ne_bytes(bytes.try_into().expect("16 bytes each"));
            }
            (self.left, self.process) = (KEPT, Some(process));
        }
        self.left -= 1;
        self.numbers[self.left]
    }

    /// A number that a fork may draw as well.
    fn take_common(&mut self) -> u128 {
        let known = self.process;
        self.take(|| known.unwrap_or_else(Identity::own))
    }
}

/// The next number of a sequence (splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// From now on, this thread draws the numbers that follow from the seed; random ones again after `None`.
#[cfg(feature = "conformance")]
pub(crate) fn repeat(seed: Option<u64>) {
    STOCK.with_borrow_mut(|stock| stock.seed = seed);
}

/// Whether this thread draws numbers that follow from a seed.
#[cfg(feature = "conformance")]
pub(crate) fn is_repeated() -> bool {
    STOCK.with_borrow(|stock| stock.seed.is_some())
}

/// 128 random bits.
pub(crate) fn bits() -> u128 {
    STOCK.with_borrow_mut(|stock| stock.take(Identity::own))
}

/// A number from `low` to `high`, for jitter.
pub(crate) fn between(low: f64, high: f64) -> f64 {
    let share = (STOCK.with_borrow_mut(Stock::take_common) >> 75) as f64 / (1_u64 << 53) as f64;
    low + share * (high - low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn numbers_do_not_repeat_in_a_thread_nor_over_threads() {
        let numbers = || (0..1000).map(|_| bits()).collect::<Vec<_>>();
        let other = std::thread::spawn(numbers).join().unwrap();
        let all: HashSet<u128> = numbers().into_iter().chain(other).collect();
        assert_eq!(all.len(), 2000);
    }

    #[test]
    fn what_the_parent_kept_is_not_used_in_a_fork() {
        let mut stock = Stock { numbers: [0; KEPT], left: 0, process: None, seed: None };
        let own = Identity::own();
        stock.take(|| own);
        let kept: HashSet<u128> = stock.numbers.into_iter().collect();
        stock.take_common();
        assert!((0..KEPT).all(|_| !kept.contains(&stock.take(|| own.other()))));
    }

    #[test]
    fn jitter_stays_in_its_range() {
        let all: Vec<f64> = (0..1000).map(|_| between(0.5, 1.5)).collect();
        assert!(all.iter().all(|x| (0.5..1.5).contains(x)));
        assert!(all.iter().any(|x| *x < 0.7) && all.iter().any(|x| *x > 1.3));
    }
}

//! Random numbers: ids that never repeat, and jitter. Not for secrets.
//!
//! Each thread has a SplitMix64 generator (Steele, Lea, Flood 2014) for either half of a number, seeded by the system.
//! One thread never repeats a number, and two threads do with the odds of a clash between random seeds of 128 bits.

use std::cell::Cell;

/// The increment of SplitMix64.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

thread_local! {
    static GENERATOR: Cell<Generator> = const { Cell::new(Generator { high: 0, low: 0, process: 0 }) };
}

#[derive(Debug, Clone, Copy)]
struct Generator {
    high: u64,
    low: u64,
    /// A forked child has a copy of its parent's generator, and must not make the same numbers.
    process: u32,
}

impl Generator {
    fn seeded(process: u32) -> Self {
        let mut seed = [0; 16];
        getrandom::fill(&mut seed).expect("the system has random numbers");
        let seed = u128::from_ne_bytes(seed);
        Self { high: (seed >> 64) as u64, low: seed as u64, process }
    }

    fn next(self) -> (Self, u128) {
        let process = std::process::id();
        let now = if self.process == process { self } else { Self::seeded(process) };
        let (high, low) = (now.high.wrapping_add(GAMMA), now.low.wrapping_add(GAMMA));
        (Self { high, low, process }, u128::from(mix(high)) << 64 | u128::from(mix(low)))
    }
}

/// 128 random bits.
pub(crate) fn bits() -> u128 {
    GENERATOR.with(|generator| {
        let (next, number) = generator.get().next();
        generator.set(next);
        number
    })
}

/// A number from `low` to `high`, for jitter.
pub(crate) fn between(low: f64, high: f64) -> f64 {
    let share = (bits() >> 75) as f64 / (1_u64 << 53) as f64;
    low + share * (high - low)
}

const fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
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
    fn a_generator_of_another_process_is_not_used() {
        let own = Generator::seeded(std::process::id());
        let (next, number) = own.next();
        assert_eq!((next.process, own.next().1), (own.process, number));
        let parents = Generator { process: own.process + 1, ..own };
        assert_ne!(parents.next().1, number);
    }

    /// The published values for the seed 1234567.
    #[test]
    fn the_generator_is_split_mix() {
        let mut generator = Generator { high: 1_234_567, low: 1_234_567, process: std::process::id() };
        for expected in [6_457_827_717_110_365_317_u64, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        {
            let (next, number) = generator.next();
            assert_eq!((number as u64, (number >> 64) as u64), (expected, expected));
            generator = next;
        }
    }

    #[test]
    fn jitter_stays_in_its_range() {
        let all: Vec<f64> = (0..1000).map(|_| between(0.5, 1.5)).collect();
        assert!(all.iter().all(|x| (0.5..1.5).contains(x)));
        assert!(all.iter().any(|x| *x < 0.7) && all.iter().any(|x| *x > 1.3));
    }
}

//! What a failure and its repeats mean.

use cotter_testkit::history::{Class, Kind};
use std::fmt;

/// How often a test that failed is run again.
pub(crate) const REPEATS: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It showed a broken guarantee: no repeat can excuse that.
    Unsafe,
    /// It failed again.
    Repeated { failures: usize },
    /// There were too many failures to repeat them.
    NotRepeated,
    /// It failed once and passed every time after that.
    Unsteady,
}

impl Verdict {
    /// `first`: what the test printed when it failed. `again`: for each repeat, what it printed if it failed once more.
    pub(crate) fn of(first: &str, again: &[Option<String>]) -> Self {
        let failures = again.iter().flatten().count();
        let broken = |text: &str| shows_a_broken_guarantee(text);
        if broken(first) || again.iter().flatten().any(|text| broken(text)) {
            Self::Unsafe
        } else if again.len() < REPEATS {
            Self::NotRepeated
        } else if failures > 0 {
            Self::Repeated { failures }
        } else {
            Self::Unsteady
        }
    }

    pub(crate) fn is_red(self) -> bool {
        self != Self::Unsteady
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsafe => write!(f, "a guarantee was broken"),
            Self::Repeated { failures } => {
                write!(f, "failed again in {failures} of {REPEATS} runs by itself")
            }
            Self::NotRepeated => write!(f, "not repeated"),
            Self::Unsteady => write!(f, "passed {REPEATS} times by itself"),
        }
    }
}

/// Whether any violation in this text is one of safety.
fn shows_a_broken_guarantee(text: &str) -> bool {
    Kind::all_in(text).any(|kind| kind.class() == Class::Safety)
}

#[cfg(test)]
mod tests {
    use super::Verdict;

    const OVERLAP: &str = "violation[overlap]: two of them";

    fn again(texts: [Option<&str>; 3]) -> Vec<Option<String>> {
        texts.map(|text| text.map(String::from)).to_vec()
    }

    #[test]
    fn a_broken_guarantee_is_red_however_the_repeats_end() {
        assert_eq!(Verdict::of(OVERLAP, &again([None; 3])), Verdict::Unsafe);
        assert_eq!(Verdict::of(OVERLAP, &[]), Verdict::Unsafe);
        assert_eq!(Verdict::of("late", &again([None, Some(OVERLAP), None])), Verdict::Unsafe);
    }

    #[test]
    fn anything_else_is_red_if_it_happens_again() {
        let slow = "violation[slow-hand-over]: 3 s";
        assert_eq!(Verdict::of(slow, &again([None; 3])), Verdict::Unsteady);
        let once_more = Verdict::of(slow, &again([None, None, Some("late")]));
        assert_eq!(once_more, Verdict::Repeated { failures: 1 });
        assert!(once_more.is_red());
        assert!(!Verdict::Unsteady.is_red());
    }

    #[test]
    fn what_was_not_repeated_is_red() {
        assert_eq!(Verdict::of("late", &[]), Verdict::NotRepeated);
        assert!(Verdict::NotRepeated.is_red());
    }
}

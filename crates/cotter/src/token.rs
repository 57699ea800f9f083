//! Fencing tokens.

use std::fmt;
use std::str::FromStr;

/// A number that rises with every grant of a name, so that a resource can refuse a stale holder.
///
/// Two grants of one name never carry the same token, and a later grant carries a larger one, as long as the
/// store's token source does not go back (the table in `docs/guarantees.md` says when that could happen).
/// Below 2^53 until the year 2255 on the stores whose counter is ours, so JSON and JavaScript compare it
/// correctly. The idea: Martin Kleppmann, *How to do distributed locking* (2016).
///
/// ```
/// use cotter::FencingToken;
/// let older: FencingToken = "41".parse().unwrap();
/// let newer = FencingToken::from(42);
/// assert!(older < newer);
/// assert_eq!(newer.as_i64(), 42);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(u64);

impl FencingToken {
    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number as SQL's `bigint`.
    ///
    /// # Panics
    /// Never for a token that a store gave: those are below 2^63.
    pub const fn as_i64(self) -> i64 {
        assert!(self.0 <= i64::MAX as u64, "no store gives tokens of 2^63 and more");
        self.0 as i64
    }
}

impl From<u64> for FencingToken {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for FencingToken {
    type Err = std::num::ParseIntError;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        s.parse().map(Self)
    }
}

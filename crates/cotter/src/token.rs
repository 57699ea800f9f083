//! Fencing tokens.

use std::fmt;
use std::str::FromStr;

/// A number that increases with every grant of a name, so that a resource can reject a stale holder.
///
/// Two grants of one name never carry the same token, and a later grant carries a larger one, as long as the store's
/// token source does not go backwards (the page of the store in [stores.md] says when that could happen).
///
/// Among readers, and among holders of permits, a grant may be older than the call that it serves: a grant that arrives
/// for a task that has given up goes to the next task of the process that wants the same. The tokens of two readers
/// therefore say nothing about which of them asked first; a reader's token is larger than those of all writers before
/// it, and smaller than those of all writers after it.
///
/// On stores whose counter is cotter's own, the token stays below 2^53 until the year 2255, so JavaScript compares it
/// correctly. The idea is described by Martin Kleppmann in *How to do distributed locking* (2016).
///
/// ```
/// use cotter::FencingToken;
/// let older: FencingToken = "41".parse().unwrap();
/// let newer = FencingToken::from(42);
/// assert!(older < newer);
/// assert_eq!(newer.as_i64(), 42);
/// ```
///
/// In SQL, it is a `bigint` that every write compares:
///
/// ```sql
/// ALTER TABLE stock ADD COLUMN fence bigint NOT NULL DEFAULT 0;
/// UPDATE stock SET left_over = left_over - 1, fence = $1 WHERE item = $2 AND fence <= $1;
/// -- 0 rows: a later holder was here, or there is no such item
///
/// -- Where the row may be missing (PostgreSQL, SQLite):
/// INSERT INTO stock (item, left_over, fence) VALUES ($2, $3, $1)
/// ON CONFLICT (item) DO UPDATE SET left_over = excluded.left_over, fence = excluded.fence
/// WHERE stock.fence <= excluded.fence;
/// ```
///
/// `NOT NULL` matters: nothing is compared with `NULL`, so no write would ever be admitted. MySQL and MariaDB do not count rows
/// that already have the values of the update, unless the connection sets `CLIENT_FOUND_ROWS`: there, a holder that repeats a
/// write may get 0 rows as well.
///
/// [stores.md]: https://github.com/cotter-rs/cotter/blob/v0.1.0/docs/stores.md
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(u64);

impl FencingToken {
    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number as an SQL `bigint`.
    ///
    /// # Panics
    /// If the number is 2^63 or more. No store issues such a token; for numbers from elsewhere use `i64::try_from`.
    pub const fn as_i64(self) -> i64 {
        assert!(self.0 <= i64::MAX as u64, "no store issues tokens of 2^63 and more");
        self.0 as i64
    }
}

impl From<u64> for FencingToken {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl From<FencingToken> for u64 {
    fn from(token: FencingToken) -> Self {
        token.0
    }
}

impl TryFrom<FencingToken> for i64 {
    type Error = std::num::TryFromIntError;
    fn try_from(token: FencingToken) -> Result<Self, Self::Error> {
        token.0.try_into()
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

//! The resource's side of a fencing token.

use crate::{FencingToken, Guard, Mode};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rejects stale holders: remembers the largest exclusive token that it has seen.
///
/// Meant for a resource that lives in one process: a device, a cache, a file writer. A database does the same with a
/// column and `UPDATE … WHERE fence <= $token`; see [`FencingToken`]. A *shared* token is compared only with the
/// largest *exclusive* one, since readers do not exclude each other. Tokens of [permits](crate::Permit) identify their
/// holders, several of which hold rightfully at the same time, so they are never rejected: a fence does not protect
/// anything from the holder of a lost permit.
///
/// ```
/// use cotter::{Fence, Mode};
/// let fence = Fence::new();
/// assert!(fence.admit_token(7.into(), Mode::Exclusive).is_ok());
/// assert!(fence.admit_token(6.into(), Mode::Exclusive).is_err());
/// assert!(fence.admit_token(6.into(), Mode::Shared).is_err());
/// ```
#[derive(Debug, Default)]
pub struct Fence(AtomicU64);

impl Fence {
    /// Creates a fence that has seen nothing.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Admits the holder of this guard unless a later one was admitted before.
    ///
    /// # Errors
    /// [`Stale`] if a larger exclusive token was admitted before.
    pub fn admit(&self, guard: &Guard) -> Result<(), Stale> {
        self.admit_token(guard.token(), guard.mode())
    }

    /// Like [`admit`](Self::admit), for a token that was sent by another process.
    ///
    /// # Errors
    /// [`Stale`] if a larger exclusive token was admitted before.
    pub fn admit_token(&self, token: FencingToken, mode: Mode) -> Result<(), Stale> {
        let seen = match mode {
            Mode::Exclusive => self.0.fetch_max(token.get(), Ordering::AcqRel),
            Mode::Shared => self.0.load(Ordering::Acquire),
            Mode::Permits { .. } => 0,
        };
        if seen > token.get() { Err(Stale { token, seen: seen.into() }) } else { Ok(()) }
    }
}

/// The error for a token that is smaller than one that was admitted before.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stale {
    /// The token that was rejected.
    pub token: FencingToken,
    /// The larger one that was seen before.
    pub seen: FencingToken,
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "token {} is stale: {} was here before", self.token, self.seen)
    }
}

impl std::error::Error for Stale {}

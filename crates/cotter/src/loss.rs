//! The loss of a lock.

use crate::{FencingToken, Name};
use std::fmt;

/// A lock that is no longer held: which one, with which token, and why.
///
/// ```
/// use cotter::{FencingToken, LossCause, Lost, Name};
/// let lost = Lost::new(Name::new("orders")?, FencingToken::from(7), LossCause::Evicted);
/// assert_eq!(lost.to_string(), r#"the lock "orders" (token 7) is not held any more: it was evicted"#);
/// let error = cotter::Error::from(lost);
/// assert_eq!(error.lost().map(|lost| lost.cause), Some(LossCause::Evicted));
/// # Ok::<_, cotter::Error>(())
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lost {
    /// The name of the lock.
    pub name: Name,
    /// The token that the guard carried.
    pub token: FencingToken,
    /// The cause.
    pub cause: LossCause,
}

impl Lost {
    /// Creates a loss, for stand-ins in tests; cotter creates its own.
    pub fn new(name: Name, token: FencingToken, cause: LossCause) -> Self {
        Self { name, token, cause }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the lock {:?} (token {}) is not held any more: {}", self.name, self.token, self.cause)
    }
}

impl std::error::Error for Lost {}

/// The reason why a lock is no longer held.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum LossCause {
    /// The lease ended before it was renewed: after a pause, with a dead network, or because it was fixed.
    Expired,
    /// [`Lease::max_hold`](crate::Lease::max_hold) was reached.
    MaxHold,
    /// Another process evicted the holder.
    Evicted,
    /// The store no longer knows the grant: it was deleted, replaced, or flushed.
    Gone,
    /// The session that the grant lived with ended.
    SessionLost,
    /// The client was closed.
    Closed,
    /// Not lost: its guard released it.
    Released,
    /// The process was forked and this is the child.
    Forked,
}

impl LossCause {
    /// Returns a stable label for this cause, in `snake_case`: for metrics and log fields. With the feature `serde`, it is what the
    /// cause is written as.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::MaxHold => "max_hold",
            Self::Evicted => "evicted",
            Self::Gone => "gone",
            Self::SessionLost => "session_lost",
            Self::Closed => "closed",
            Self::Released => "released",
            Self::Forked => "forked",
        }
    }
}

impl fmt::Display for LossCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "its lease ended before it was renewed",
            Self::MaxHold => "its longest hold was reached",
            Self::Evicted => "it was evicted",
            Self::Gone => "it was deleted or replaced in the store",
            Self::SessionLost => "the session that it lived with ended",
            Self::Closed => "the client was closed",
            Self::Released => "it was released",
            Self::Forked => "this process is a fork of the holder",
        })
    }
}

//! How a lock was lost.

use crate::{FencingToken, Name};
use std::fmt;

/// A lock that is not held any more: which, with which token, and why.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The name of the lock.
    pub name: Name,
    /// The token that the guard carried.
    pub token: FencingToken,
    /// Why.
    pub cause: LossCause,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the lock {:?} (token {}) is not held any more: {}", self.name, self.token, self.cause)
    }
}

impl std::error::Error for Lost {}

/// Why a lock is not held any more.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LossCause {
    /// The lease ended before it could be renewed: a pause, a dead network, a fixed lease that ran out.
    Expired,
    /// [`Lease::max_hold`](crate::Lease::max_hold) was reached.
    MaxHold,
    /// Somebody took it away.
    Evicted,
    /// The store does not know the grant any more: deleted, replaced, flushed.
    Gone,
    /// The session that it lived with ended.
    SessionLost,
    /// The client was closed.
    Closed,
    /// Not lost: its guard gave it back.
    Released,
    /// The process was forked and this is the child.
    Forked,
}

impl fmt::Display for LossCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "its lease ended before it was renewed",
            Self::MaxHold => "its longest hold was reached",
            Self::Evicted => "it was evicted",
            Self::Gone => "the store does not know it any more",
            Self::SessionLost => "the session that it lived with ended",
            Self::Closed => "the client was closed",
            Self::Released => "it was released",
            Self::Forked => "this process is a fork of the holder",
        })
    }
}

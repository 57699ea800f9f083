//! Results of `extend` and `release`.

use crate::{LossCause, Moment};
use std::time::Duration;

/// The result of `extend` for one grant.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub enum Extension {
    /// The grant is valid for `ttl` after `as_of`; without a `ttl` it lives as long as its process or session.
    #[non_exhaustive]
    Extended {
        /// A moment no later than the sending of the request.
        as_of: Moment,
        /// The time that was granted.
        ttl: Option<Duration>,
    },
    /// The claim no longer holds anything. The cause is [`Gone`](LossCause::Gone), or [`Evicted`](LossCause::Evicted)
    /// where the store knows it.
    Lost(LossCause),
}

impl Extension {
    /// Creates an `Extended` that is valid for `ttl` after `as_of`, a moment no later than the sending of the request;
    /// without a `ttl` the grant lives as long as its process or session.
    pub const fn extended(as_of: Moment, ttl: Option<Duration>) -> Self {
        Self::Extended { as_of, ttl }
    }
}

/// The state in which a holder leaves a lock.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default)]
pub struct Leave {
    /// The number of turns of the block that were used; the store takes back the rest.
    pub used: u16,
    /// Keeps the name locked for this long, without a holder.
    pub keep_for: Option<Duration>,
}

impl Leave {
    /// Leaves nothing but the given number of used turns.
    pub const fn used(used: u16) -> Self {
        Self { used, keep_for: None }
    }

    /// Also keeps the name locked for this long, without a holder.
    #[must_use]
    pub const fn keeping(mut self, keep_for: Option<Duration>) -> Self {
        self.keep_for = keep_for;
        self
    }
}

/// The result of `release`.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// The claim was held or queued, and no longer is.
    Freed,
    /// The store had nothing of this claim.
    NotHeld,
    /// The store no longer had anything of this claim, because its holder was evicted.
    Evicted,
    /// Nothing of this claim is left, but an earlier `acquire` of it may still arrive. It must be released again until
    /// a release that was sent after `until` has been answered.
    Unsettled {
        /// The moment after which no earlier `acquire` can arrive.
        until: Moment,
    },
}

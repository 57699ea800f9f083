//! The answers of a store to `extend` and `release`.

use crate::{LossCause, Moment};
use std::time::Duration;

/// What `extend` answers.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub enum Extension {
    /// Valid for `ttl` after `as_of` (`None`: lives on with its process or session).
    #[non_exhaustive]
    Extended {
        /// Before the sending of the request.
        as_of: Moment,
        /// The time that was given.
        ttl: Option<Duration>,
    },
    /// The claim holds nothing any more, and why: [`Gone`](LossCause::Gone), or [`Evicted`](LossCause::Evicted) where the
    /// store knows that.
    Lost(LossCause),
}

impl Extension {
    /// Valid for `ttl` after `as_of`, which is before the sending of the request; without a `ttl` it lives on with its
    /// process or session.
    pub const fn extended(as_of: Moment, ttl: Option<Duration>) -> Self {
        Self::Extended { as_of, ttl }
    }
}

/// What a holder leaves behind.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default)]
pub struct Leave {
    /// How many turns of the block were used; the store takes the others back.
    pub used: u16,
    /// Keep the lease for so long, held by nobody.
    pub keep_for: Option<Duration>,
}

impl Leave {
    /// Nothing but the turns of the block that were not used.
    pub const fn used(used: u16) -> Self {
        Self { used, keep_for: None }
    }

    /// The lease as well, for so long, held by nobody.
    #[must_use]
    pub const fn keeping(mut self, keep_for: Option<Duration>) -> Self {
        self.keep_for = keep_for;
        self
    }
}

/// What `release` answers.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// It was held or queued, and is not any more.
    Freed,
    /// There was nothing of this claim.
    NotHeld,
    /// There was nothing of this claim any more, because somebody had taken the lock away from it.
    Evicted,
    /// Nothing of this claim is left, but an earlier `acquire` of it may still arrive: it has to be released again, until
    /// a release that was sent after `until` has answered.
    Unsettled {
        /// No earlier `acquire` arrives after this moment.
        until: Moment,
    },
}

//! Results of `acquire`, `extend` and `release`.

use super::Grant;
use crate::{LossCause, Moment};
use std::time::Duration;

/// The result of `acquire`.
#[non_exhaustive]
#[must_use = "it may contain a grant, which is lost if nobody releases it"]
#[derive(Debug, Clone)]
pub enum Acquired {
    /// The claim holds the name.
    Granted(Grant),
    /// The name stayed busy until the wait was over, and nothing of the claim is left in the store.
    Busy,
    /// The name is busy, and the claim is queued in the store. Only [`Until::InLine`](super::Until::InLine) ends like
    /// this: the engine continues with a waiting `acquire` of the same claim, or with its release.
    Queued,
    /// The name stayed busy until the wait was over. Something of the claim may still be there, or one of its requests
    /// may still arrive: the engine releases the claim until a release that was sent after `until` has been answered.
    /// [`unsettled`](Self::unsettled) makes one.
    #[non_exhaustive]
    Unsettled {
        /// The moment after which nothing of the claim is left and none of its requests can arrive.
        until: Moment,
    },
}

impl Acquired {
    /// Creates an `Unsettled` that ends at that moment.
    pub const fn unsettled(until: Moment) -> Self {
        Self::Unsettled { until }
    }

    /// Returns the grant, if there is one.
    pub fn granted(self) -> Option<Grant> {
        match self {
            Self::Granted(grant) => Some(grant),
            Self::Busy | Self::Queued | Self::Unsettled { .. } => None,
        }
    }
}

/// `None` is [`Busy`](Acquired::Busy).
impl From<Option<Grant>> for Acquired {
    fn from(granted: Option<Grant>) -> Self {
        granted.map_or(Self::Busy, Self::Granted)
    }
}

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
    /// Something of this claim may still be there, or an earlier `acquire` of it may still arrive. It must be released
    /// again until a release that was sent after `until` has been answered. [`unsettled`](Self::unsettled) makes one.
    #[non_exhaustive]
    Unsettled {
        /// The answer apart from that.
        found: Found,
        /// The moment after which nothing of it is left and no earlier `acquire` can arrive. It counts from the request
        /// that may arrive, not from this release: a moment that moves with each release is never reached.
        until: Moment,
    },
}

/// The state in which a release found its claim.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The claim was held or queued.
    Held,
    /// The store had nothing of the claim.
    Nothing,
    /// The store no longer had anything of the claim, because its holder was evicted.
    Evicted,
}

impl Release {
    /// The same answer, except that something of the claim may be left or arrive until then.
    #[must_use]
    pub const fn unsettled(self, until: Moment) -> Self {
        Self::Unsettled { found: self.found(), until }
    }

    /// Returns what the release found, settled or not.
    pub const fn found(self) -> Found {
        match self {
            Self::Freed => Found::Held,
            Self::NotHeld => Found::Nothing,
            Self::Evicted => Found::Evicted,
            Self::Unsettled { found, .. } => found,
        }
    }
}

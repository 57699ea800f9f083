//! How long the lease of those who wait is: short, unless that is too short for this process.
//!
//! A waiter that is dead holds up those behind it for as long as this lease lasts, so it is the shortest that there is. Where the
//! way to the cluster is slow, or the machine is, it ends between two keepalives, and all who wait lose their places. If they
//! asked with the same lease again, they would lose them again: they ask at once, which makes the next keepalive late as
//! well. So each time the next lease is twice as long, up to a limit, and the short one is tried again after a while.

use crate::Moment;
use crate::sync::lock;
use std::sync::Mutex;
use std::time::Duration;

/// In seconds.
pub(super) const SHORTEST: u64 = 2;
const LONGEST: u64 = 16;
/// So long after a place was lost, the shortest lease is tried again.
const LONGER_FOR: Duration = Duration::from_secs(60);

/// A length in seconds other than the shortest one, and since when.
#[derive(Default)]
pub(super) struct Patience(Mutex<Option<(u64, Moment)>>);

impl Patience {
    /// The length in seconds.
    pub(super) fn seconds(&self, now: Moment) -> u64 {
        let longer = lock(&self.0).filter(|(_, since)| now.since(*since) < LONGER_FOR);
        longer.map_or(SHORTEST, |(seconds, _)| seconds)
    }

    /// A place has ended with a lease of so many seconds. Of all who have lost theirs with it, the first one counts.
    pub(super) fn was_too_short(&self, seconds: u64, now: Moment) {
        if seconds == self.seconds(now) && seconds < LONGEST {
            *lock(&self.0) = Some((seconds * 2, now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_ends_too_early_is_followed_by_a_longer_one() {
        let (patience, at) = (Patience::default(), |s| Moment::ZERO + Duration::from_secs(s));
        assert_eq!(patience.seconds(at(0)), 2);
        for (lost, then) in [(2, 4), (2, 4), (4, 8), (8, 16), (16, 16)] {
            patience.was_too_short(lost, at(10));
            assert_eq!(patience.seconds(at(10)), then);
        }
        assert_eq!(patience.seconds(at(69)), 16);
        assert_eq!(patience.seconds(at(70)), 2, "the short one is tried again");
    }
}

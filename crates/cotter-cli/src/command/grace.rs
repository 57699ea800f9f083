//! The grace period of a command.

use cotter::{Guard, LossCause, Lost};
use cotter_console::Failure;
use std::time::Duration;

/// No command can stop in less time.
const MIN_GRACE: Duration = Duration::from_millis(100);
/// A command that needs longer will not stop.
const MAX_GRACE: Duration = Duration::from_secs(5);
/// The maximum after the store has taken the lock away: another holder may already have it.
const MAX_GRACE_AFTER_LOSS: Duration = Duration::from_secs(1);

/// The time between TERM and KILL: a quarter of the ttl within bounds, so that it begins after a renewal was tried, which
/// happens every third of the ttl, and ends before the lease does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grace(Duration);

impl Grace {
    /// Fails if the ttl is shorter than three grace periods: the command could not be stopped in time.
    pub(crate) fn of(ttl: Duration, wanted: Option<Duration>) -> Result<Self, Failure> {
        let grace = wanted.unwrap_or_else(|| (ttl / 4).clamp(MIN_GRACE, MAX_GRACE));
        if ttl < 3 * grace {
            let least = 3 * grace;
            let why = format!(
                "--ttl {ttl:?} leaves no time to stop the command before the lock is lost: the minimum is {least:?}"
            );
            return Err(Failure::usage(why));
        }
        Ok(Self(grace))
    }

    /// The grace period of a lock that is held from now on. Where it lives as long as a session, the ttl says nothing of how long
    /// before its end a command has to be stopped.
    pub(crate) fn fitting(self, guard: &Guard) -> Self {
        guard.remaining().map_or(self, |left| self.within(left))
    }

    /// At most a quarter of what is left, if it would begin in the first half of that.
    fn within(self, left: Duration) -> Self {
        if self.margin() * 2 > left { Self(left / 4) } else { self }
    }

    /// How long before the deadline the command has to be stopped: the grace period, and some time for KILL to take effect.
    pub(crate) fn margin(self) -> Duration {
        self.0 + self.0 / 5
    }

    /// The grace period while the lock is held: not beyond the lease. If no time is left, as after a pause of this process, KILL
    /// is sent immediately.
    pub(crate) fn in_time(self, guard: &Guard) -> Duration {
        guard.remaining().map_or(self.0, |left| self.0.min(left))
    }

    /// The whole grace period, regardless of the lease.
    pub(crate) fn whole(self) -> Duration {
        self.0
    }

    /// The grace period after the lock was lost.
    pub(crate) fn on_loss(self, lost: &Lost, guard: &Guard) -> Duration {
        match lost.cause {
            LossCause::Expired | LossCause::MaxHold => self.in_time(guard),
            _ => self.0.min(MAX_GRACE_AFTER_LOSS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grace_is_a_quarter_of_the_ttl_within_bounds() {
        let grace = |millis| Grace::of(Duration::from_millis(millis), None).map(|g| g.0.as_millis());
        assert_eq!(grace(30_000).unwrap(), 5_000);
        assert_eq!(grace(8_000).unwrap(), 2_000);
        assert_eq!(grace(300).unwrap(), 100);
        assert!(grace(299).unwrap_err().message.contains("the minimum is 300ms"));
    }

    #[test]
    fn a_grace_fits_into_a_session() {
        let seconds = Duration::from_secs;
        let usual = Grace::of(seconds(30), None).unwrap();
        assert_eq!(usual.within(seconds(6)).0, Duration::from_millis(1_500));
        assert_eq!((usual.within(seconds(20)).0, usual.within(seconds(30)).0), (usual.0, usual.0));
    }

    #[test]
    fn the_stop_begins_after_the_first_renewal_was_due() {
        for millis in [400, 1_000, 30_000, 600_000] {
            let ttl = Duration::from_millis(millis);
            assert!(ttl / 3 < ttl - Grace::of(ttl, None).unwrap().margin());
        }
    }
}

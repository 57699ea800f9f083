//! How much time the command gets to stop.

use crate::output::Failure;
use cotter::{Guard, LossCause, Lost};
use std::time::Duration;

/// No command can stop in less.
const SHORTEST: Duration = Duration::from_millis(100);
/// A command that needs longer is not going to stop.
const LONGEST: Duration = Duration::from_secs(5);
/// After the store itself has taken the lock away somebody else may hold it already.
const TAKEN: Duration = Duration::from_secs(1);

/// The time between TERM and KILL: a quarter of the ttl within bounds, so that renewal, which has every third of the
/// ttl, was tried before it begins, and the command is gone before the lease is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grace(Duration);

impl Grace {
    /// Fails when three graces do not fit into the ttl: the command could not be stopped in time.
    pub(crate) fn of(ttl: Duration, wanted: Option<Duration>) -> Result<Self, Failure> {
        let grace = wanted.unwrap_or_else(|| (ttl / 4).clamp(SHORTEST, LONGEST));
        if ttl < 3 * grace {
            let least = 3 * grace;
            let why = format!(
                "--ttl {ttl:?} leaves no time to stop the command before the lock is lost: {least:?} is the least"
            );
            return Err(Failure::usage(why));
        }
        Ok(Self(grace))
    }

    /// So long before the deadline the command is told to stop: the grace, and some for KILL to be carried out.
    pub(crate) fn margin(self) -> Duration {
        self.0 + self.0 / 5
    }

    /// While the lock is held: the whole grace, but not beyond the lease. Without any time left, as after a pause of
    /// this process, KILL comes at once.
    pub(crate) fn in_time(self, guard: &Guard) -> Duration {
        guard.remaining().map_or(self.0, |left| self.0.min(left))
    }

    /// Where nobody can be asked how long the lease lasts.
    pub(crate) fn whole(self) -> Duration {
        self.0
    }

    pub(crate) fn on_loss(self, lost: &Lost, guard: &Guard) -> Duration {
        match lost.cause {
            LossCause::Expired | LossCause::MaxHold => self.in_time(guard),
            _ => self.0.min(TAKEN),
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
        assert!(grace(299).unwrap_err().message.contains("300ms is the least"));
    }

    #[test]
    fn the_stop_begins_after_the_first_renewal_was_due() {
        for millis in [400, 1_000, 30_000, 600_000] {
            let ttl = Duration::from_millis(millis);
            assert!(ttl / 3 < ttl - Grace::of(ttl, None).unwrap().margin());
        }
    }
}

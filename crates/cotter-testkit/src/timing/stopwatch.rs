//! A bound in real time.

use super::machine::{Busy, watch_the_machine};
use crate::history::{Class, Kind, demand};
use std::fmt;
use std::time::{Duration, Instant};

/// The time since it was started. Nothing else in a test compares an elapsed time.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    begin: Instant,
    kind: Kind,
}

impl Stopwatch {
    /// Starts one.
    #[must_use]
    pub fn start() -> Self {
        Self::of(Kind::TooSlow)
    }

    /// Starts one for a bound of this kind.
    ///
    /// # Panics
    /// When violations of this kind are not about time.
    #[must_use]
    #[track_caller]
    pub fn of(kind: Kind) -> Self {
        assert_eq!(kind.class(), Class::Time, "{kind}");
        watch_the_machine();
        Self { begin: Instant::now(), kind }
    }

    /// To print, or to do something for so long. To compare it there are [`at_most`](Self::at_most) and
    /// [`at_least`](Self::at_least).
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    /// How long it had run at that moment, which others have noted.
    #[must_use]
    pub fn upto(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.begin)
    }

    /// It has taken no longer so far, as far as the machine allowed.
    ///
    /// # Panics
    /// When it has.
    #[track_caller]
    pub fn at_most(&self, limit: Duration, what: impl fmt::Display) {
        self.took_at_most(self.elapsed(), limit, what);
    }

    /// The same of a part of the time since the start: the longest of many waits, or a percentile.
    ///
    /// # Panics
    /// When it took longer.
    #[track_caller]
    pub fn took_at_most(&self, took: Duration, limit: Duration, what: impl fmt::Display) {
        if took <= limit {
            return;
        }
        let busy = Busy::since(self.begin);
        let allowed = busy.allowed(limit);
        demand(
            took <= allowed,
            self.kind,
            format!("{what}: it took {took:?}, at most {limit:?}; {busy}, which allows {allowed:?}"),
        );
    }

    /// It has taken at least this long so far. No machine is too fast for a clock, so nothing is allowed for.
    ///
    /// # Panics
    /// When it has not.
    #[track_caller]
    pub fn at_least(&self, limit: Duration, what: impl fmt::Display) {
        let took = self.elapsed();
        demand(took >= limit, Kind::TooEarly, format!("{what}: after {took:?}, not before {limit:?}"));
    }
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        write!(
            f,
            "meanwhile sleepers were {:?} late and work took {:.1} times as long, with a load of {}",
            self.late,
            self.stretch,
            load.trim()
        )
    }
}

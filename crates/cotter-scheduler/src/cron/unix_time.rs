//! Instants.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An instant: time since 1970-01-01T00:00:00Z, to the nanosecond, leap seconds not counted.
///
/// The only instant type of this crate, so that users are free to choose a date crate. It converts from and to
/// [`SystemTime`], and from and to the instants of `jiff` and `chrono` with the features of the same names. It parses
/// and writes RFC 3339 (always written in UTC, with `Z`).
///
/// ```
/// use cotter_scheduler::UnixTime;
///
/// let instant: UnixTime = "2024-03-10T03:00:00-04:00".parse()?;
/// assert_eq!(instant, UnixTime::from_seconds(1_710_054_000));
/// assert_eq!(instant.to_string(), "2024-03-10T07:00:00Z");
/// # Ok::<(), cotter_scheduler::TimeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixTime {
    seconds: i64,
    nanos: u32,
}

const NANOS: u32 = 1_000_000_000;

impl UnixTime {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: UnixTime = UnixTime::from_seconds(0);

    /// Creates an instant from a whole number of seconds since 1970, negative before.
    pub const fn from_seconds(seconds: i64) -> Self {
        UnixTime { seconds, nanos: 0 }
    }

    /// Creates an instant from seconds and nanoseconds since 1970; nanoseconds of a second or more carry over.
    pub const fn new(seconds: i64, nanos: u32) -> Self {
        UnixTime { seconds: seconds.saturating_add((nanos / NANOS) as i64), nanos: nanos % NANOS }
    }

    /// Returns the current time of this machine's clock.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// Returns the whole seconds since 1970, rounded down.
    pub const fn seconds(self) -> i64 {
        self.seconds
    }

    /// Returns the nanoseconds within the second.
    pub const fn subsec_nanos(self) -> u32 {
        self.nanos
    }

    /// Returns the time since `earlier`; zero if this instant is not later.
    pub fn since(self, earlier: UnixTime) -> Duration {
        if self <= earlier {
            return Duration::ZERO;
        }
        let (whole, part) = (self.seconds.wrapping_sub(earlier.seconds) as u64, earlier.nanos > self.nanos);
        let nanos = self.nanos + NANOS * u32::from(part) - earlier.nanos;
        Duration::new(whole - u64::from(part), nanos)
    }

    /// The first whole second that is not before this instant.
    pub(crate) fn seconds_up(self) -> i64 {
        self.seconds.saturating_add(i64::from(self.nanos > 0))
    }
}

/// Saturates at the end of the range.
impl Add<Duration> for UnixTime {
    type Output = UnixTime;

    fn add(self, d: Duration) -> UnixTime {
        let seconds = i64::try_from(d.as_secs()).unwrap_or(i64::MAX);
        UnixTime::new(self.seconds.saturating_add(seconds), self.nanos + d.subsec_nanos())
    }
}

/// Saturates at the beginning of the range.
impl Sub<Duration> for UnixTime {
    type Output = UnixTime;

    fn sub(self, d: Duration) -> UnixTime {
        let borrow = u32::from(self.nanos < d.subsec_nanos());
        let seconds = i64::try_from(d.as_secs()).unwrap_or(i64::MAX).saturating_add(i64::from(borrow));
        let nanos = self.nanos + NANOS * borrow - d.subsec_nanos();
        UnixTime::new(self.seconds.saturating_sub(seconds), nanos)
    }
}

impl From<SystemTime> for UnixTime {
    /// Saturates at the ends of the range of 64-bit seconds.
    fn from(time: SystemTime) -> Self {
        let whole = |gap: Duration| i64::try_from(gap.as_secs()).unwrap_or(i64::MAX);
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => UnixTime::new(whole(since), since.subsec_nanos()),
            Err(before) => {
                let gap = before.duration();
                let up = u32::from(gap.subsec_nanos() > 0);
                let seconds = (-whole(gap)).saturating_sub(i64::from(up));
                UnixTime::new(seconds, (NANOS - gap.subsec_nanos()) * up)
            }
        }
    }
}

impl TryFrom<UnixTime> for SystemTime {
    type Error = RangeError;

    fn try_from(time: UnixTime) -> Result<Self, RangeError> {
        let whole = Duration::from_secs(time.seconds.unsigned_abs());
        let seconds =
            if time.seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
        seconds.and_then(|at| at.checked_add(Duration::from_nanos(time.nanos.into()))).ok_or(RangeError(()))
    }
}

/// The error for an instant that is out of range for the other type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeError(pub(crate) ());

impl fmt::Display for RangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the instant is out of range for the type it was converted to")
    }
}

impl std::error::Error for RangeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_time_and_back() {
        for (seconds, nanos) in [(0, 0), (1, 1), (-1, 0), (-1, 999_999_999), (-5, 1), (4_102_444_800, 7)] {
            let time = UnixTime::new(seconds, nanos);
            let system = SystemTime::try_from(time).unwrap();
            assert_eq!(UnixTime::from(system), time);
        }
        assert_eq!(UnixTime::from(UNIX_EPOCH - Duration::from_millis(1500)), UnixTime::new(-2, 500_000_000));
    }

    #[test]
    fn arithmetic() {
        let (early, late) = (UnixTime::new(-2, 900_000_000), UnixTime::new(3, 100_000_000));
        let gap = Duration::from_millis(4200);
        assert_eq!((late.since(early), early.since(late)), (gap, Duration::ZERO));
        assert_eq!((early + gap, late - gap), (late, early));
        assert_eq!(UnixTime::from_seconds(i64::MAX) + Duration::MAX, UnixTime::new(i64::MAX, 999_999_999));
        let widest = UnixTime::from_seconds(i64::MAX).since(UnixTime::from_seconds(i64::MIN));
        assert_eq!(widest.as_secs(), u64::MAX);
    }

    #[test]
    fn beyond_system_time() {
        let error = SystemTime::try_from(UnixTime::new(i64::MAX, 999_999_999));
        assert!(error.is_ok() || error == Err(RangeError(())), "no panic whatever the platform holds");
        assert_eq!(UnixTime::new(i64::MAX, NANOS), UnixTime::from_seconds(i64::MAX));
    }
}

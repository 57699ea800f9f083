//! The boot clock: it keeps running while the machine is suspended, as leases do, and all processes of a host share it.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The current time, in nanoseconds.
pub fn now() -> u64 {
    let t = clock_gettime(ClockId::Boottime);
    t.tv_sec.cast_unsigned() * 1_000_000_000 + t.tv_nsec.cast_unsigned()
}

/// The time after a duration from now.
pub fn after(duration: Duration) -> u64 {
    now().saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// The duration from now until a time.
pub fn left(until: u64) -> Duration {
    Duration::from_nanos(until.saturating_sub(now()))
}

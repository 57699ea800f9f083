//! The clock that goes on while the machine sleeps, as leases do, and that all processes of a host share.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Now, in nanoseconds.
pub(crate) fn now() -> u64 {
    let t = clock_gettime(ClockId::Boottime);
    t.tv_sec.cast_unsigned() * 1_000_000_000 + t.tv_nsec.cast_unsigned()
}

/// So long from now.
pub(super) fn after(duration: Duration) -> u64 {
    now().saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// How long it is until then.
pub(super) fn left(until: u64) -> Duration {
    Duration::from_nanos(until.saturating_sub(now()))
}

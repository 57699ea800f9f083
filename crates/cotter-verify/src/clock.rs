//! The clock that all processes of a host share. Every language has it: Python's `time.monotonic_ns`, Java's `System.nanoTime`,
//! Node's `process.hrtime`. The boot clock, on which leases live, differs from it only while the machine is suspended.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The current time, in nanoseconds.
pub(crate) fn now() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec.cast_unsigned() * 1_000_000_000 + t.tv_nsec.cast_unsigned()
}

/// A duration in its unit.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

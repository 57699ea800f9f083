//! The clock that all processes of this machine share.

use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_BOOTTIME` in nanoseconds: comparable between processes, and the clock that deadlines are kept on.
pub fn now() -> u64 {
    let t = clock_gettime(ClockId::Boottime);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

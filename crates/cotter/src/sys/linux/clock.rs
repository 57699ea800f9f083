//! `CLOCK_BOOTTIME`: it goes on while the machine is suspended.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since the machine was booted, the same for all its processes.
pub(crate) fn boot_nanos() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Tells this boot of the machine from every other.
#[cfg(feature = "sqlite")]
pub(crate) fn boot_id() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim_end().to_owned())
}

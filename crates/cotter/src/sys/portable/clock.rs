//! The system's monotonic clock, in the variant that goes on while the machine is suspended, where there is one.
//!
//! | system | clock | goes on while suspended |
//! |---|---|---|
//! | macOS | `CLOCK_MONOTONIC`, not the `CLOCK_UPTIME_RAW` of `Instant` | yes |
//! | FreeBSD | `CLOCK_MONOTONIC` | not in today's releases |
//! | Windows | `Instant`, which is `QueryPerformanceCounter` | yes |

/// Nanoseconds since some moment in the past, the same one for all processes of this machine.
#[cfg(unix)]
pub(crate) fn boot_nanos() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds since a second before the first call in this process.
#[cfg(not(unix))]
pub(crate) fn boot_nanos() -> u64 {
    static ORIGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let elapsed = ORIGIN.get_or_init(std::time::Instant::now).elapsed();
    1_000_000_000 + u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX / 2)
}

/// Not known here.
#[cfg(all(feature = "sqlite", unix))]
pub(crate) fn boot_id() -> Option<String> {
    None
}

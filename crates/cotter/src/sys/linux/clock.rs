//! `CLOCK_BOOTTIME`: it goes on while the machine is suspended.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since the machine was booted, the same for all its processes.
pub(crate) fn boot_nanos() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Tells this boot of the machine from every other. Empty in a container that has an id of its own mounted over the kernel's, as
/// those of systemd-nspawn and LXC have: that one says nothing about the clock, which is the machine's.
#[cfg(feature = "sqlite")]
pub(crate) fn boot_id() -> Option<String> {
    use rustix::fs::{PROC_SUPER_MAGIC, fstatfs};
    let file = std::fs::File::open("/proc/sys/kernel/random/boot_id").ok()?;
    let is_the_kernels = fstatfs(&file).is_ok_and(|found| found.f_type == PROC_SUPER_MAGIC);
    if !is_the_kernels {
        return Some(String::new());
    }
    let id = std::io::read_to_string(file).ok()?;
    Some(id.trim_end().to_owned())
}

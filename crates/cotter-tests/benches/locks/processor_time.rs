//! The processor time of other processes.

use std::time::Duration;

/// In user and system mode, by the process and those of its children that have ended.
pub(crate) fn of_all(pid: &str) -> Duration {
    ticks(pid, [11, 12]) + ticks(pid, [13, 14])
}

/// In user and system mode, by the process alone.
pub(crate) fn of(pid: &str) -> Duration {
    ticks(pid, [11, 12])
}

/// Two fields of `/proc/PID/stat`, counted from the one after the name.
fn ticks(pid: &str, fields: [usize; 2]) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').collect::<Vec<_>>();
    let ticks: u64 = fields.iter().filter_map(|field| after.get(*field)?.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

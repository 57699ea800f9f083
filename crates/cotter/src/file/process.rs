//! What `/proc` tells about other processes.

use std::fs;

/// Whether nobody runs behind this number: stopped by a signal or a debugger. What cannot be told counts as running.
pub(super) fn is_stopped(pid: u32) -> bool {
    // The name of the program stands in brackets and may itself hold any byte.
    fs::read(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| {
            let end = stat.iter().rposition(|b| *b == b')')?;
            stat.get(end + 2).copied()
        })
        .is_some_and(|state| matches!(state, b'T' | b't'))
}

//! What `/proc` tells about other processes.

use super::lock::FileId;
use rustix::fs::makedev;
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

/// A lock of the `flock` kind that some process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flocked {
    pid: u32,
    file: FileId,
}

impl Flocked {
    /// Whether it is on this file. Some file systems show another device here than to `stat`: there the process has to
    /// be the one that the file names.
    pub(super) fn is_on(self, file: FileId, pid: u32) -> bool {
        self.file.ino == file.ino && (self.file.dev == file.dev || self.pid == pid)
    }

    /// Whose it is, if it can be on this file.
    pub(super) fn pid_on(self, file: FileId) -> Option<u32> {
        (self.file.ino == file.ino).then_some(self.pid)
    }
}

/// All such locks that this process may see; `None` where the system does not tell.
pub(super) fn flocked() -> Option<Vec<Flocked>> {
    let table = fs::read_to_string("/proc/locks").ok()?;
    Some(table.lines().filter_map(parse).collect())
}

/// `12: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF`
fn parse(line: &str) -> Option<Flocked> {
    let mut words = line.split_whitespace().skip(1);
    let kind = words.next()?;
    let pid = words.nth(2)?.parse().ok()?;
    let mut file = words.next()?.split(':');
    let (major, minor, ino) = (file.next()?, file.next()?, file.next()?);
    let dev = makedev(u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?);
    let file = FileId { dev, ino: ino.parse().ok()? };
    (kind == "FLOCK").then_some(Flocked { pid, file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_is_read() {
        let file = FileId { dev: makedev(0xfe, 0x10), ino: 5678 };
        let held = parse("12: FLOCK  ADVISORY  WRITE 1234 fe:10:5678 0 EOF").unwrap();
        assert_eq!(held, Flocked { pid: 1234, file });
        assert!(held.is_on(file, 1) && !held.is_on(FileId { dev: 1, ..file }, 1));
        assert!(held.is_on(FileId { dev: 1, ..file }, 1234));
        for other in
            ["12: POSIX  ADVISORY  WRITE 1234 fe:10:5678 0 EOF", "12: -> FLOCK ADVISORY WRITE 1 fe:1:2", ""]
        {
            assert_eq!(parse(other), None);
        }
    }

    #[test]
    fn who_runs_is_not_stopped() {
        assert!(!is_stopped(std::process::id()));
        assert!(!is_stopped(u32::MAX));
    }
}

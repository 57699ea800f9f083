//! Other processes, from `/proc`.

use super::identity::Identity;
use rustix::fs::stat;
#[cfg(feature = "sqlite")]
use rustix::io::Errno;
#[cfg(feature = "sqlite")]
use rustix::process::{Pid, test_kill_process};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

/// A process, by its number and by the namespace in which that is its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id {
    pub(crate) pid: u32,
    /// 0 where it is not known.
    pub(crate) namespace: u64,
}

impl Id {
    pub(crate) fn own() -> Self {
        Self { pid: std::process::id(), namespace: namespace() }
    }

    /// Whether it has ended. Where that is not known, it counts as running.
    #[cfg(feature = "sqlite")]
    pub(crate) fn is_gone(self) -> bool {
        if self.namespace == 0 || self.namespace != namespace() {
            return false;
        }
        // Other users' processes may be hidden in /proc.
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let is_unknown = pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH));
        is_unknown || state(self.pid).is_some_and(|s| matches!(s, b'Z' | b'X'))
    }

    /// Whether it was stopped by a signal or a debugger. Where that is not known, it counts as running.
    pub(crate) fn is_stopped(self) -> bool {
        let is_here = self.namespace != 0 && self.namespace == namespace();
        is_here && self.pid != std::process::id() && state(self.pid).is_some_and(|s| matches!(s, b'T' | b't'))
    }
}

/// The namespace of our process numbers; 0 when `/proc` shows those of another one. Cached, but not across a fork.
fn namespace() -> u64 {
    static OF: AtomicU64 = AtomicU64::new(0);
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    let own = Identity::own().number();
    if OF.load(Ordering::Acquire) != own {
        let pid = std::process::id().to_string();
        let is_ours = fs::read_link("/proc/self").is_ok_and(|own| own.as_os_str() == pid.as_str());
        let found = stat("/proc/self/ns/pid").ok().filter(|_| is_ours);
        KNOWN.store(found.map_or(0, |s| s.st_ino), Ordering::Release);
        OF.store(own, Ordering::Release);
    }
    KNOWN.load(Ordering::Acquire)
}

/// The state of the process with this number, as one letter.
fn state(pid: u32) -> Option<u8> {
    let file = fs::File::open(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program is in brackets and may contain any byte; it is short.
    let mut bytes = [0; 512];
    let n = rustix::io::read(&file, &mut bytes).ok()?;
    let end = bytes[..n].iter().rposition(|b| *b == b')')?;
    bytes[..n].get(end + 2).copied()
}

/// The name of its program.
pub(crate) fn name(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/comm")).ok().map(|name| name.trim_end().to_owned())
}

/// Whether there is a process with this number.
pub(crate) fn is_there(pid: u32) -> bool {
    stat(format!("/proc/{pid}")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn who_runs_is_not_stopped() {
        let ours = Id::own();
        assert!(ours.namespace != 0 && state(ours.pid).is_some() && !ours.is_stopped());
        assert!(!Id { pid: u32::MAX, ..ours }.is_stopped());
    }

    #[test]
    fn a_number_of_another_namespace_is_nobody_here() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = child.id();
        let id = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(id, rustix::process::Signal::STOP).unwrap();
        while state(pid) != Some(b'T') {
            std::thread::yield_now();
        }
        let here = Id { pid, ..Id::own() };
        let stopped = [here, Id { namespace: here.namespace + 1, ..here }, Id { namespace: 0, ..here }];
        assert_eq!(stopped.map(Id::is_stopped), [true, false, false]);
        child.kill().unwrap();
        #[cfg(feature = "sqlite")]
        {
            while !here.is_gone() {
                std::thread::yield_now();
            }
            assert_eq!(stopped.map(Id::is_gone), [true, false, false]);
        }
        child.wait().unwrap();
        #[cfg(feature = "sqlite")]
        assert!(here.is_gone() && !Id::own().is_gone());
    }
}

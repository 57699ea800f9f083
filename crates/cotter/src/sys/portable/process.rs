//! Whether another process exists: the one thing that every system reports.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// A process, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id {
    pub(crate) pid: u32,
    /// Always 0: numbers are not told apart by their namespaces.
    pub(crate) namespace: u64,
}

impl Id {
    pub(crate) fn own() -> Self {
        Self { pid: std::process::id(), namespace: 0 }
    }

    /// Never known here: the number may be one of another namespace.
    #[cfg(feature = "sqlite")]
    pub(crate) fn is_gone(self) -> bool {
        false
    }

    /// Never known here. A process that was stopped is noticed by the questions that it does not answer.
    pub(crate) fn is_stopped(self) -> bool {
        false
    }
}

/// The name of its program is not known here.
pub(crate) fn name(_pid: u32) -> Option<String> {
    None
}

/// Whether there is a process with this number.
pub(crate) fn is_there(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| !matches!(test_kill_process(pid), Err(Errno::SRCH)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_come_and_go() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        assert!(is_there(std::process::id()) && is_there(child.id()) && is_there(1));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_there(child.id()) && !is_there(0) && !is_there(u32::MAX));
    }
}

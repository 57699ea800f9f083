//! The ancestors of this process.

use crate::command::proc::{Process, start_of};
use rustix::process::{Pid, getpid, getppid};
use serde::{Deserialize, Serialize};
use std::fs;

/// A process that holds a lock. Its id alone is not sufficient: it may have been reused.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Holder {
    pid: i32,
    /// Its start time, in ticks since boot.
    start: Option<u64>,
    /// The PID namespace of its id.
    namespace: Option<String>,
}

impl Holder {
    pub(super) fn this() -> Self {
        let pid = getpid();
        Self { pid: pid.as_raw_nonzero().get(), start: start_of(pid), namespace: namespace() }
    }

    /// Whether it is a living ancestor of this process. If that cannot be determined it is assumed: refusing a run is better
    /// than a deadlock.
    pub(super) fn is_above(&self) -> bool {
        if self.start.is_none() || self.namespace.is_none() || self.namespace != namespace() {
            return true;
        }
        let (pids, is_complete) = above();
        let is_it = |pid: &Pid| pid.as_raw_nonzero().get() == self.pid && start_of(*pid) == self.start;
        !is_complete || pids.iter().any(is_it)
    }
}

/// Whether this is the id of an ancestor of this process.
pub(super) fn is_above(pid: u32) -> bool {
    above().0.iter().any(|above| u32::try_from(above.as_raw_nonzero().get()) == Ok(pid))
}

/// The ancestors from the parent upwards, and whether the list is complete.
fn above() -> (Vec<Pid>, bool) {
    let mut pids = Vec::new();
    let mut next = getppid();
    while let Some(pid) = next {
        pids.push(pid);
        let Some(process) = Process::read(pid) else { return (pids, false) };
        next = Pid::from_raw(process.parent);
    }
    (pids, true)
}

fn namespace() -> Option<String> {
    Some(fs::read_link("/proc/self/ns/pid").ok()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_above_and_this_process_is_not() {
        let parent = getppid().unwrap();
        let holder =
            |pid: Pid| Holder { pid: pid.as_raw_nonzero().get(), start: start_of(pid), ..Holder::this() };
        assert!(holder(parent).is_above());
        assert!(!Holder::this().is_above());
        let another = Holder { start: Some(1), ..holder(parent) };
        assert!(!another.is_above(), "the same number at another time");
        let elsewhere = Holder { namespace: Some("pid:[1]".into()), ..Holder::this() };
        assert!(elsewhere.is_above(), "nobody can tell");
    }
}

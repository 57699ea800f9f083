//! The descendants of the shim. It is their subreaper, so that no process escapes when its parent ends.

use crate::command::group::Group;
use crate::command::proc::{self, Process};
use crate::command::termination::Termination;
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, getpid, set_child_subreaper, wait};
use std::thread::sleep;

/// A change of state of a child.
pub(super) type Event = (Pid, WaitStatus);

/// Makes orphans children of this process from now on.
pub(super) fn become_subreaper() -> rustix::io::Result<()> {
    set_child_subreaper(Some(getpid()))
}

/// The next child that has ended or was stopped; the error [`Errno::CHILD`] if there are no children.
pub(super) fn event() -> rustix::io::Result<Option<Event>> {
    wait(WaitOptions::NOHANG | WaitOptions::UNTRACED)
}

/// All living descendants.
pub(super) fn living() -> Vec<Process> {
    proc::living(&[])
}

/// Sends TERM to all, KILL to those that are left at `kill`, and waits until none is left.
pub(super) fn end(group: Group, kill: u64) {
    let mut termination = Termination::new(Some(group), kill, None);
    while is_any_left() {
        let Some(pause) = termination.step(&living()) else { return };
        sleep(pause);
    }
}

fn is_any_left() -> bool {
    loop {
        match event() {
            Ok(Some(_)) => {}
            Ok(None) | Err(Errno::INTR) => return true,
            Err(_) => return false,
        }
    }
}

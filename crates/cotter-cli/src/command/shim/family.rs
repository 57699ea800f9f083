//! Everything below the shim, to the last one: it is the subreaper, so that nobody gets away by losing its parent.

use crate::command::ending::Ending;
use crate::command::group::Group;
use crate::command::proc::{self, Process};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, getpid, set_child_subreaper, wait};
use std::thread::sleep;

/// What the kernel tells about a child.
pub(super) type Event = (Pid, WaitStatus);

/// Orphans come to this process from now on.
pub(super) fn adopt() -> rustix::io::Result<()> {
    set_child_subreaper(Some(getpid()))
}

/// The next child that has ended or was stopped; an error with [`Errno::CHILD`] when there is none at all.
pub(super) fn event() -> rustix::io::Result<Option<Event>> {
    wait(WaitOptions::NOHANG | WaitOptions::UNTRACED)
}

/// All that live.
pub(super) fn living() -> Vec<Process> {
    proc::living(&[])
}

/// TERM to all, KILL to those who are left at `kill`; back when nobody is left.
pub(super) fn end(group: Group, kill: u64) {
    let mut ending = Ending::new(Some(group), kill, None);
    while is_anybody_left() {
        let Some(pause) = ending.step(&living()) else { return };
        sleep(pause);
    }
}

fn is_anybody_left() -> bool {
    loop {
        match event() {
            Ok(Some(_)) => {}
            Ok(None) | Err(Errno::INTR) => return true,
            Err(_) => return false,
        }
    }
}

//! What is known of a process by those who do something to it.

use rustix::process::{Pid, Signal, kill_process_group};
use std::cell::Cell;

/// The place of a process, which is filled again when it was killed.
#[derive(Debug)]
pub(super) struct Slot {
    /// From 1 on.
    pub(super) number: u32,
    pid: Cell<Option<Pid>>,
    /// Whether it believes to hold a lock.
    pub(super) holds: Cell<bool>,
    /// It is not asked for anything meanwhile: what it does next it would do on its own.
    pub(super) is_paused: Cell<bool>,
    /// When it was killed, if its death is not confirmed yet.
    pub(super) killed: Cell<Option<u64>>,
}

impl Slot {
    pub(super) fn new(number: u32) -> Self {
        let (pid, killed) = (Cell::new(None), Cell::new(None));
        Self { number, pid, holds: Cell::new(false), is_paused: Cell::new(false), killed }
    }

    /// A process was started here.
    pub(super) fn start(&self, pid: Option<u32>) {
        let pid = pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        self.pid.set(pid);
        self.holds.set(false);
    }

    /// It has ended, and its number may be that of another process.
    pub(super) fn end(&self) {
        self.pid.set(None);
        self.holds.set(false);
        self.is_paused.set(false);
    }

    /// Whether there is a process to do something to.
    pub(super) fn is_alive(&self) -> bool {
        self.pid.get().is_some() && self.killed.get().is_none()
    }

    /// Sends a signal to the process and those that it has started. Whether there was anybody.
    pub(super) fn signal(&self, signal: Signal) -> bool {
        self.pid.get().is_some_and(|pid| kill_process_group(pid, signal).is_ok())
    }

    /// Whether the kernel has stopped it.
    pub(super) fn has_stopped(&self) -> bool {
        let Some(pid) = self.pid.get() else { return false };
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        // The name before the state may contain anything.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    }
}

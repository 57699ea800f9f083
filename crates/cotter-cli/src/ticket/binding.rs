//! The process that a lock is bound to.

use cotter_console::Failure;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;
use tokio::sync::Notify;

/// Watches one process, however its id is used later.
pub(super) struct Binding(Arc<Notify>);

impl Binding {
    pub(super) fn to(pid: u32) -> Result<Self, Failure> {
        let no_process = || Failure::usage(format!("--pid: there is no process {pid}; write --pid $$"));
        let id = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(no_process)?;
        let process = pidfd_open(id, PidfdFlags::empty()).map_err(|error| match error {
            Errno::SRCH | Errno::INVAL => no_process(),
            other => Failure::usage(format!("--pid: process {pid} cannot be watched: {other}")),
        })?;
        let ended = Arc::new(Notify::new());
        let notify = ended.clone();
        // A thread of its own, which nobody waits for at the end of this process.
        thread::Builder::new().spawn(move || {
            wait(&process);
            notify.notify_one();
        })?;
        Ok(Self(ended))
    }

    /// Completes once, when the process has ended.
    ///
    /// Cancel safe.
    pub(super) async fn ended(&self) {
        self.0.notified().await;
    }
}

fn wait(process: &OwnedFd) {
    while let Err(Errno::INTR) = poll(&mut [PollFd::new(process, PollFlags::IN)], None) {}
}

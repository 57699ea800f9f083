//! Signals to the process group of the command.

use rustix::process::{Pid, Signal, kill_process_group};

/// A process group created by cotter. Its id is not reused while it has members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group(pub(super) Pid);

impl Group {
    /// Sends a signal to all members. An empty group is detected elsewhere.
    pub(super) fn send(self, signal: Signal) {
        let _ = kill_process_group(self.0, signal);
    }

    /// Forwards a signal that was meant for the command.
    pub(super) fn pass_on(self, signal: Signal) {
        self.send(signal);
        if Self::goes_on(signal) {
            self.send(Signal::CONT);
        }
    }

    /// Whether a stopped process has to be continued to handle this signal. Otherwise a request to end would have no effect on
    /// it, or on a background process that tried to read from the terminal.
    pub(super) fn goes_on(signal: Signal) -> bool {
        ![Signal::USR1, Signal::USR2, Signal::TSTP].contains(&signal)
    }
}

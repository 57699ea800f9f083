//! Signals to the process group of the command.

use rustix::process::{Pid, Signal, kill_process_group};

/// A process group that was made by us. Its number stays taken for as long as it has members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group(pub(super) Pid);

impl Group {
    /// To all members. That there are none any more is seen elsewhere.
    pub(super) fn send(self, signal: Signal) {
        let _ = kill_process_group(self.0, signal);
    }

    /// A signal that was meant for the command.
    pub(super) fn pass_on(self, signal: Signal) {
        self.send(signal);
        if Self::goes_on(signal) {
            self.send(Signal::CONT);
        }
    }

    /// Whether a stopped process has to go on to see this signal: one that asks to stop is of no use to it otherwise, as
    /// it is to one that wanted to read from a terminal in the background.
    pub(super) fn goes_on(signal: Signal) -> bool {
        ![Signal::USR1, Signal::USR2, Signal::TSTP].contains(&signal)
    }
}

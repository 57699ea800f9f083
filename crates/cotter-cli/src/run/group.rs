//! The process group of the command.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::fs;

/// A process group that was made by us. Its number stays taken for as long as it has members.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group(Pid);

impl Group {
    pub(super) fn led_by(pid: Pid) -> Self {
        Self(pid)
    }

    /// To all members. That there are none any more is seen elsewhere.
    pub(super) fn send(self, signal: Signal) {
        let _ = kill_process_group(self.0, signal);
    }

    /// A signal that was meant for the command. One that asks to stop is of no use to a stopped process, as one is that
    /// wanted to read from a terminal in the background: it has to go on to see it.
    pub(super) fn pass_on(self, signal: Signal) {
        self.send(signal);
        if signal != Signal::USR1 && signal != Signal::USR2 {
            self.send(Signal::CONT);
        }
    }

    /// How many processes of the group are alive.
    ///
    /// The cheap question comes first, it is nearly always answered with none. Dead processes that nobody has waited
    /// for (an init that does not reap) still answer it with yes, so that /proc has to decide.
    pub(super) fn members(self) -> usize {
        if test_kill_process_group(self.0).is_err() {
            return 0;
        }
        let Ok(processes) = fs::read_dir("/proc") else { return 1 };
        let stats = processes.flatten().filter_map(|p| fs::read_to_string(p.path().join("stat")).ok());
        stats.filter(|stat| is_alive_in(stat, self.0)).count()
    }
}

/// `pid (any text) state ppid pgrp …`
fn is_alive_in(stat: &str, group: Pid) -> bool {
    let Some((_, rest)) = stat.rsplit_once(") ") else { return false };
    let mut fields = rest.split(' ');
    let alive = !matches!(fields.next(), Some("Z" | "X") | None);
    alive && fields.nth(1).and_then(|pgrp| pgrp.parse().ok()) == Some(group.as_raw_nonzero().get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_proc_is_read_behind_the_command_name() {
        let group = Pid::from_raw(77).unwrap();
        assert!(is_alive_in("9 (sh) S 1 77 77 0", group));
        assert!(is_alive_in("9 (a) Z 1 5 (b) S 1 77 77 0", group));
        assert!(!is_alive_in("9 (sh) Z 1 77 77 0", group));
        assert!(!is_alive_in("9 (sh) S 77 9 77 0", group));
        assert!(!is_alive_in("", group));
    }
}

//! The controlling terminal and its foreground group.

use super::proc::{Process, own_group, own_session};
use nix::sys::signal::{SigSet, Signal};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, getppid};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use std::io::{IsTerminal, stderr, stdin, stdout};
use std::os::fd::OwnedFd;

/// The controlling terminal.
#[derive(Debug)]
pub(crate) struct Terminal(OwnedFd);

impl Terminal {
    /// The terminal of this process, if one of its standard streams is a terminal, and the group that gets it back.
    pub(super) fn ours() -> Option<(Self, Pid)> {
        if !stdin().is_terminal() && !stdout().is_terminal() && !stderr().is_terminal() {
            return None;
        }
        Some((Self::controlling()?, own_group()?))
    }

    /// The terminal of this process, whatever its standard streams are.
    pub(super) fn controlling() -> Option<Self> {
        open("/dev/tty", OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty()).ok().map(Self)
    }

    /// The foreground group.
    pub(super) fn foreground(&self) -> Option<Pid> {
        tcgetpgrp(&self.0).ok()
    }

    pub(crate) fn is_ours(&self) -> bool {
        own_group().is_some_and(|ours| self.foreground() == Some(ours))
    }

    /// Makes another group the foreground group.
    pub(super) fn give_to(&self, group: Pid) {
        let _ = from_the_background(|| tcsetpgrp(&self.0, group));
    }
}

/// Does something to the terminal for which a background process would be stopped: it has to block TTOU meanwhile.
pub(crate) fn from_the_background<T>(act: impl FnOnce() -> T) -> T {
    let mut quiet = SigSet::empty();
    quiet.add(Signal::SIGTTOU);
    let before = SigSet::thread_get_mask();
    let _ = quiet.thread_block();
    let done = act();
    if let Ok(before) = before {
        let _ = before.thread_set_mask();
    }
    done
}

/// Whether the command starts in the foreground. In a pipeline it does not, because other parts may read from the terminal;
/// it gets the terminal when it asks for it.
pub(super) fn is_for_the_command(terminal: &Terminal) -> bool {
    stdin().is_terminal() && stdout().is_terminal() && terminal.is_ours()
}

/// Whether a shell could continue this process after it was stopped: an ancestor in the same session, but in another group.
/// Without one, the kernel would not stop this group either.
pub(crate) fn has_a_shell() -> bool {
    let (Some(session), Some(group)) = (own_session(), own_group()) else { return false };
    let mut above = getppid().and_then(Process::read);
    while let Some(process) = above {
        if process.session != session {
            return false;
        }
        if process.group != group.as_raw_nonzero().get() {
            return true;
        }
        above = Pid::from_raw(process.parent).and_then(Process::read);
    }
    false
}

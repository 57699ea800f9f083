//! A line on a terminal that is kept up to date, and taken away when it is not true any more.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, fcntl_dupfd_cloexec, write};
use std::io::{IsTerminal, stderr};
use std::os::fd::OwnedFd;

/// Back to the margin, and clear to the end of the line.
const CLEAR: &str = "\r\x1b[K";

/// It stands on standard error, below what was said before.
#[derive(Debug)]
pub(crate) struct Live {
    /// Opened anew: it does not wait when the terminal stands still (Ctrl-S), and others who write there do as before.
    terminal: Option<OwnedFd>,
}

impl Live {
    /// Shows nothing unless it is `wanted` and there is a terminal.
    pub(crate) fn new(wanted: bool) -> Self {
        let terminal = (wanted && stderr().is_terminal()).then(|| {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            // It may belong to another user, as after su(1).
            open("/proc/self/fd/2", flags, Mode::empty()).or_else(|_| fcntl_dupfd_cloexec(stderr(), 3)).ok()
        });
        Self { terminal: terminal.flatten() }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.terminal.is_some()
    }

    /// In place of what it said before. A terminal that stands still, or cannot be written to, leaves nobody to tell.
    pub(crate) fn say(&self, text: &str) {
        let Some(terminal) = &self.terminal else { return };
        let width = rustix::termios::tcgetwinsize(terminal).map_or(80, |size| size.ws_col);
        // A line that wraps cannot be cleared.
        let text: String = text.chars().take(usize::from(width.max(2)) - 1).collect();
        let line = format!("{CLEAR}{text}");
        let mut bytes = line.as_bytes();
        while !bytes.is_empty() && accepts(terminal) {
            match write(terminal, bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// Makes room for other lines.
    pub(crate) fn clear(&self) {
        self.say("");
    }
}

fn accepts(terminal: &OwnedFd) -> bool {
    poll(&mut [PollFd::new(terminal, PollFlags::OUT)], Some(&Timespec::default())) == Ok(1)
}

impl Drop for Live {
    fn drop(&mut self) {
        self.clear();
    }
}

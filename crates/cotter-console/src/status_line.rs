//! A status line on a terminal, which is updated in place and removed at the end.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, fcntl_dupfd_cloexec, write};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp};
use std::cell::Cell;
use std::io::{IsTerminal, stderr};
use std::os::fd::OwnedFd;

/// Carriage return, and clear to the end of the line.
const CLEAR: &str = "\r\x1b[K";

/// A line on standard error, below all earlier output.
#[derive(Debug)]
pub struct StatusLine {
    /// A separate descriptor, so that it can be non-blocking for a stopped terminal (Ctrl-S) without affecting other writers.
    terminal: Option<OwnedFd>,
    /// Whether there is anything to clear.
    is_shown: Cell<bool>,
}

impl StatusLine {
    /// Shows nothing unless it is `wanted` and standard error is a terminal.
    pub fn new(wanted: bool) -> Self {
        let terminal = (wanted && stderr().is_terminal()).then(|| {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            // The terminal may belong to another user, as after su(1).
            open("/proc/self/fd/2", flags, Mode::empty()).or_else(|_| fcntl_dupfd_cloexec(stderr(), 3)).ok()
        });
        Self { terminal: terminal.flatten(), is_shown: Cell::new(false) }
    }

    /// Whether anybody can see it.
    pub fn is_on(&self) -> bool {
        self.terminal.is_some()
    }

    /// Replaces the text. Errors and stopped terminals are ignored: nobody could see a message about them.
    pub fn say(&self, text: &str) {
        let Some(terminal) = &self.terminal else { return };
        let is_empty_anyway = text.is_empty() && !self.is_shown.get();
        if is_empty_anyway || would_stop(terminal) {
            return;
        }
        self.is_shown.set(!text.is_empty());
        let width = rustix::termios::tcgetwinsize(terminal).map_or(80, |size| size.ws_col);
        // A wrapped line cannot be cleared.
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

    /// Clears the line, so that other lines can be printed.
    pub fn clear(&self) {
        self.say("");
    }
}

/// With `stty tostop`, whoever writes in the background is stopped: a waiter would be, and a holder, for a line that nobody needs.
fn would_stop(terminal: &OwnedFd) -> bool {
    let stops = tcgetattr(terminal).is_ok_and(|now| now.local_modes.contains(LocalModes::TOSTOP));
    stops && tcgetpgrp(terminal).is_ok_and(|front| front != getpgrp())
}

fn accepts(terminal: &OwnedFd) -> bool {
    poll(&mut [PollFd::new(terminal, PollFlags::OUT)], Some(&Timespec::default())) == Ok(1)
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.clear();
    }
}

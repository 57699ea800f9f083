//! A line on a terminal that is kept up to date, and taken away when it is not true any more.

use std::io::{IsTerminal, Write, stderr};

/// Back to the margin, and clear to the end of the line.
const CLEAR: &str = "\r\x1b[K";

/// It stands on standard error, below what was said before.
#[derive(Debug)]
pub(crate) struct Live {
    is_on: bool,
}

impl Live {
    /// Shows nothing unless it is `wanted` and there is a terminal.
    pub(crate) fn new(wanted: bool) -> Self {
        Self { is_on: wanted && stderr().is_terminal() }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// In place of what it said before. A standard error that cannot be written to leaves nobody to tell.
    pub(crate) fn say(&self, text: &str) {
        if !self.is_on {
            return;
        }
        let mut err = stderr().lock();
        let width = rustix::termios::tcgetwinsize(stderr()).map_or(80, |size| size.ws_col);
        // A line that wraps cannot be cleared.
        let text: String = text.chars().take(usize::from(width.max(2)) - 1).collect();
        let _ = write!(err, "{CLEAR}{text}").and_then(|()| err.flush());
    }

    /// Makes room for other lines.
    pub(crate) fn clear(&self) {
        self.say("");
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.clear();
    }
}

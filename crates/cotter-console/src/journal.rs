//! Priorities of lines for the journal, as described in sd-daemon(3).

use rustix::fs::fstat;
use std::io::stderr;
use std::sync::OnceLock;

/// The priority of a line: `journalctl -p warning` shows warnings and errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    Error = 3,
    Warning = 4,
    Info = 6,
}

impl Priority {
    /// What a line begins with if the journal reads standard error, and nothing elsewhere.
    pub(crate) fn prefix(self) -> String {
        static READ_BY_JOURNAL: OnceLock<bool> = OnceLock::new();
        let is_read = *READ_BY_JOURNAL.get_or_init(is_read_by_journal);
        if is_read { format!("<{}>", self as u8) } else { String::new() }
    }
}

/// The variable names the stream; a command that redirects its output still inherits it.
fn is_read_by_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    fstat(stderr()).is_ok_and(|own| stream == format!("{}:{}", own.st_dev, own.st_ino))
}

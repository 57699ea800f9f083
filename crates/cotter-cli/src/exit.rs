//! The exit codes of `cotter`.

use cotter::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

/// An outcome with an exit code. The numbers follow sysexits.h and timeout(1), so that they rarely collide with a command's
/// own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    Done,
    /// `cotter demo`: the audit reported findings.
    Unclean,
    /// `cotter show --quiet`: the lock is free.
    Free,
    /// The command exited with this code.
    Child(u8),
    /// The command was ended by this signal.
    Signalled { signal: u8, share: Share },
    /// Wrong usage, an invalid name, or an operation that the store does not support.
    Usage,
    /// The name is in use for something else.
    UsedOtherwise,
    /// The store cannot be reached.
    Unreachable,
    /// The system refused something, such as room for the output.
    System,
    /// The lock was lost while the command ran.
    Lost,
    /// Not acquired in time; the exit code of `--busy-code`.
    Busy(u8),
    /// An invalid reply.
    Protocol,
    /// The store denies access.
    Denied,
    /// An invalid URL or file, or a problem of the store's setup.
    Config,
    /// `--max-hold` was reached.
    MaxHold,
    /// The command cannot be executed.
    CannotExecute,
    /// The command was not found.
    NotFound,
    /// Stopped by this signal before the command was started.
    Interrupted(u8),
}

/// The processes that also have to end by the signal that ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    /// None; the exit code is sufficient.
    Nobody,
    /// This process: the shell that started it checks how it ended.
    Cotter,
    /// Its whole process group: the terminal has sent the signal only to the command's group.
    Group,
}

impl Exit {
    /// The default of `--busy-code`.
    pub(crate) const BUSY: u8 = 75;
    /// The command was killed, and its own status is not known.
    pub(crate) const KILLED: Self = Self::Child(128 + 9);

    /// The exit code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Unclean | Self::Free => 1,
            Self::Child(code) | Self::Busy(code) => code,
            Self::Usage => 64,
            Self::UsedOtherwise => 65,
            Self::Unreachable => 69,
            Self::System => 71,
            Self::Lost => 74,
            Self::Protocol => 76,
            Self::Denied => 77,
            Self::Config => 78,
            Self::MaxHold => 124,
            Self::CannotExecute => 126,
            Self::NotFound => 127,
            Self::Signalled { signal, .. } | Self::Interrupted(signal) => 128 + signal,
        }
    }

    /// The exit of a command: its own code, or 128 + the signal that ended it.
    pub(crate) fn of_child(status: ExitStatus) -> Self {
        let byte = |number: Option<i32>| number.and_then(|n| u8::try_from(n).ok());
        match byte(status.signal()) {
            Some(signal) => Self::Signalled { signal, share: Share::Nobody },
            None => Self::Child(byte(status.code()).unwrap_or(u8::MAX)),
        }
    }

    /// Sets which processes share the signal that ended the command, if one did.
    pub(crate) fn shared(self, with: impl FnOnce(u8) -> Share) -> Self {
        match self {
            Self::Signalled { signal, .. } => Self::Signalled { signal, share: with(signal) },
            other => other,
        }
    }
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::InvalidName | ErrorKind::InvalidInput | ErrorKind::Misuse | ErrorKind::Unsupported => {
                Self::Usage
            }
            ErrorKind::ForeignKey | ErrorKind::LimitMismatch | ErrorKind::Upgrade => Self::UsedOtherwise,
            ErrorKind::Unavailable | ErrorKind::NoQuorum => Self::Unreachable,
            ErrorKind::Lost => Self::Lost,
            ErrorKind::NotFound => Self::Free,
            ErrorKind::Denied => Self::Denied,
            ErrorKind::Config => Self::Config,
            _ => Self::Protocol,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// The exit codes of `cotter run`; see [`rows`].
const TABLE: &[(&str, &str)] = &[
    ("CMD's own", "CMD ran and exited with this code; 128 + N if signal N ended it"),
    ("64", "usage error, invalid name, or not supported by this store"),
    ("65", "the name is in use for something else"),
    ("69", "the store cannot be reached"),
    ("71", "a system error: no room for the output, or a system call that failed"),
    ("74", "the lock was lost while CMD ran; CMD was stopped if it was still running"),
    ("75 (-E N)", "not acquired in time"),
    ("76", "the store sent an invalid reply"),
    ("77", "permission denied"),
    ("78", "configuration: an invalid URL, an unknown store, a store that is not set up"),
    ("124", "--max-hold was reached; CMD was stopped"),
    ("126", "CMD cannot be executed"),
    ("127", "CMD was not found"),
    ("128 + N", "signal N (HUP, INT, QUIT, TERM) ended the wait; CMD never ran"),
];

/// The exit codes of a command that runs another one, `run` or `elect`, for `--help` and the manual page: without those of
/// options that it does not have.
pub(crate) fn rows(command: &str) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let has_max_hold = command == "run";
    TABLE.iter().filter(move |(code, _)| has_max_hold || *code != "124")
}

/// The table as text for a terminal.
pub(crate) fn table(command: &str) -> String {
    let width = TABLE.iter().map(|(code, _)| code.len()).max().unwrap_or_default();
    let lines = rows(command).map(|(code, meaning)| format!("  {code:width$}  {meaning}\n"));
    format!("Exit codes:\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For example `--shared` on a store without shared locks.
    #[test]
    fn what_a_store_cannot_do_is_wrong_usage() {
        assert_eq!(Exit::from(ErrorKind::Unsupported).code(), 64);
        assert_eq!(Exit::from(ErrorKind::Upgrade).code(), 65);
    }
}

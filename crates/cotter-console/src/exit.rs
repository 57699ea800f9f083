//! The exit codes of `cotter`.

use cotter::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

/// An outcome with an exit code. The numbers follow sysexits.h and timeout(1), so that they rarely collide with a command's
/// own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done,
    /// `cotter demo`: the audit reported findings. `cotter verify`: something was wrong. `cotter jobs check`: there are problems.
    /// `cotter jobs trigger --wait`: the run did not succeed.
    Unclean,
    /// `cotter show --quiet`: the lock is free.
    Free,
    /// The command exited with this code.
    Child(u8),
    /// The command was ended by a signal.
    Signalled {
        /// The number of the signal.
        signal: u8,
        /// Who else has to end by it.
        share: Share,
    },
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
    /// `cotter verify`: too little happened to prove anything.
    Void,
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
pub enum Share {
    /// None; the exit code is sufficient.
    Nobody,
    /// This process: the shell that started it checks how it ended.
    Cotter,
    /// Its whole process group: the terminal has sent the signal only to the command's group.
    Group,
}

impl Exit {
    /// The default of `--busy-code`.
    pub const BUSY: u8 = 75;
    /// The command was killed, and its own status is not known.
    pub const KILLED: Self = Self::Child(128 + 9);

    /// The exit code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Unclean | Self::Free => 1,
            Self::Child(code) | Self::Busy(code) => code,
            Self::Usage => 64,
            Self::UsedOtherwise => 65,
            Self::Unreachable => 69,
            Self::System => 71,
            Self::Lost => 74,
            Self::Void => Self::BUSY,
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
    pub fn of_child(status: ExitStatus) -> Self {
        let byte = |number: Option<i32>| number.and_then(|n| u8::try_from(n).ok());
        match byte(status.signal()) {
            Some(signal) => Self::Signalled { signal, share: Share::Nobody },
            None => Self::Child(byte(status.code()).unwrap_or(u8::MAX)),
        }
    }

    /// Sets which processes share the signal that ended the command, if one did.
    pub fn shared(self, with: impl FnOnce(u8) -> Share) -> Self {
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

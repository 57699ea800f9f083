//! Why something cannot be scheduled.

use std::fmt;

/// What every fallible call of the scheduler answers with.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of thing is wrong.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A trigger that can never be, such as a cron expression with a mistake or a period of zero.
    Trigger,
    /// A job whose settings do not go together, or two jobs of one name.
    Job,
    /// There is no job of that name in the group.
    UnknownJob,
    /// The store keeps no notes, so nobody would know which slots were done.
    NoNotes,
    /// A note was not written by this version of cotter.
    ForeignNote,
    /// The store refused, or did not answer; see [`Error::store`].
    Store,
}

/// What is wrong, where, and what to do, on one line. It never contains a password.
#[derive(Debug, Clone)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    store: Option<cotter::Error>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), store: None }
    }

    pub(crate) fn trigger(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Trigger, message)
    }

    pub(crate) fn job(job: &str, message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Job, format!("job {job:?}: {message}"))
    }

    /// What kind of error this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What the store said, for [`ErrorKind::Store`] and [`ErrorKind::NoNotes`].
    pub fn store(&self) -> Option<&cotter::Error> {
        self.store.as_ref()
    }

    /// Whether the lock of a job was lost.
    pub(crate) fn is_loss(&self) -> bool {
        self.store.as_ref().is_some_and(|e| e.kind() == cotter::ErrorKind::Lost)
    }

    /// Whether the same call may succeed later without anybody mending anything.
    pub fn is_retryable(&self) -> bool {
        self.store.as_ref().is_some_and(cotter::Error::is_retryable)
    }
}

impl From<cotter::Error> for Error {
    fn from(error: cotter::Error) -> Self {
        let (kind, message) = match error.kind() {
            cotter::ErrorKind::Unsupported => {
                (ErrorKind::NoNotes, format!("{error}; use a store that keeps notes (Redis: mode=native)"))
            }
            _ => (ErrorKind::Store, error.to_string()),
        };
        Self { kind, message, store: Some(error) }
    }
}

impl From<crate::CronError> for Error {
    fn from(error: crate::CronError) -> Self {
        Self::trigger(error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.store.as_ref().map(|e| e as _)
    }
}

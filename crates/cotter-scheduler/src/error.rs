//! Errors of the scheduler.

use std::fmt;

/// The result of every fallible call of the scheduler.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The category of an [`Error`].
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// An invalid trigger, such as a cron expression with a mistake or a period of zero.
    Trigger,
    /// A job with inconsistent settings, or two jobs of the same name.
    Job,
    /// A text that is not a label.
    Label,
    /// The group has no job of that name.
    UnknownJob,
    /// The store keeps no notes, so that completed slots cannot be recorded.
    NoNotes,
    /// A note was not written by this version of cotter.
    ForeignNote,
    /// The store refused, did not answer, or returned an old state of a job; see [`Error::store`].
    Store,
}

/// An error: what is wrong, where, and what to do, on one line. It never contains a password.
#[derive(Debug, Clone)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    store: Option<cotter::Error>,
    /// Whether it passes by itself, without an error of the store.
    passes: bool,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), store: None, passes: false }
    }

    pub(crate) fn trigger(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Trigger, message)
    }

    pub(crate) fn job(job: &str, message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Job, format!("job {job:?}: {message}"))
    }

    /// The state of a job was read that is not the newest one.
    pub(crate) fn stale(job: &str) -> Self {
        let why = "the state that the store has returned is out of date, so nothing was started: reads are answered by a replica \
                   that is behind; they have to go where the writes go";
        Self { kind: ErrorKind::Store, ..Self::job(job, why) }.passing()
    }

    /// Marks an error that passes by itself.
    pub(crate) fn passing(mut self) -> Self {
        self.passes = true;
        self
    }

    /// Returns the category of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the error of the store, for [`ErrorKind::Store`] and [`ErrorKind::NoNotes`]; `None` if the store has
    /// returned an old state without an error.
    pub fn store(&self) -> Option<&cotter::Error> {
        self.store.as_ref()
    }

    /// Whether the error is the loss of a job's lock.
    pub(crate) fn is_loss(&self) -> bool {
        self.store.as_ref().is_some_and(|e| e.kind() == cotter::ErrorKind::Lost)
    }

    /// Returns true if the same call may succeed later without anything being fixed.
    pub fn is_retryable(&self) -> bool {
        self.passes || self.store.as_ref().is_some_and(cotter::Error::is_retryable)
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
        Self { kind, message, store: Some(error), passes: false }
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

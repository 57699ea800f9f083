//! The one error type.

use crate::{LossCause, Lost, Name};
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// What every operation answers with.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of thing went wrong. Contention is not an error: a busy lock is `None`.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The name of a lock is empty, too long, or holds a control character.
    InvalidName,
    /// Another argument is out of range; the message names it.
    InvalidInput,
    /// The call cannot work here: in an async task, after a fork, on a closed client.
    Misuse,
    /// A URL, a configuration file or a directory is not usable as it stands.
    Config,
    /// The store refuses: wrong password, missing privilege, foreign owner.
    Denied,
    /// The store cannot be reached, or is out of space.
    Unavailable,
    /// This store cannot do that; the message names what can.
    Unsupported,
    /// What stands in the lock's place was not written by cotter.
    ForeignKey,
    /// Others use this semaphore with another limit.
    LimitMismatch,
    /// An exclusive lock was asked for inside a shared one of the same owner.
    Upgrade,
    /// The lock was lost; see [`Error::lost`].
    Lost,
    /// The store answered something that cotter does not understand.
    Protocol,
}

impl ErrorKind {
    fn words(self) -> &'static str {
        match self {
            Self::InvalidName => "invalid name",
            Self::InvalidInput => "invalid input",
            Self::Misuse => "misuse",
            Self::Config => "configuration",
            Self::Denied => "denied",
            Self::Unavailable => "unavailable",
            Self::Unsupported => "unsupported",
            Self::ForeignKey => "foreign key",
            Self::LimitMismatch => "limit mismatch",
            Self::Upgrade => "upgrade",
            Self::Lost => "lost",
            Self::Protocol => "protocol",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// Why an operation failed: what, which part, what to do, on one line.
///
/// Cheap to clone, so that all who waited for one answer can be told. It never contains a password.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    retryable: bool,
    outcome_unknown: bool,
    name: Option<Name>,
    backend: Option<&'static str>,
    server: Option<String>,
    lost: Option<Lost>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of this kind. Only [`ErrorKind::Unavailable`] starts out as retryable.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let retryable = kind == ErrorKind::Unavailable;
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            retryable,
            outcome_unknown: false,
            name: None,
            backend: None,
            server: None,
            lost: None,
            source: None,
        }))
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// Names the lock that it was about.
    #[must_use]
    pub fn with_name(mut self, name: &Name) -> Self {
        self.0.name.get_or_insert_with(|| name.clone());
        self
    }

    /// Names the backend that said it.
    #[must_use]
    pub fn with_backend(mut self, backend: &'static str) -> Self {
        self.0.backend.get_or_insert(backend);
        self
    }

    /// Names the server that it was about, without credentials.
    pub(crate) fn with_server(mut self, server: &str) -> Self {
        self.0.server.get_or_insert_with(|| server.to_owned());
        self
    }

    /// Says whether trying again can help.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    /// Says that the store may or may not have carried the request out.
    #[must_use]
    pub fn with_outcome_unknown(mut self) -> Self {
        self.0.outcome_unknown = true;
        self
    }

    /// What kind of error this is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the same call may succeed later without anybody mending anything.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Whether the store may have carried the request out although no answer came.
    ///
    /// cotter undoes such acquisitions by itself, in the background.
    pub fn outcome_unknown(&self) -> bool {
        self.0.outcome_unknown
    }

    /// The lock that it was about, if it was about one.
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// The scheme of the backend that said it.
    pub fn backend(&self) -> Option<&'static str> {
        self.0.backend
    }

    /// How the lock was lost, if it was: for [`ErrorKind::Lost`], and for a release that found the lock to be another's.
    pub fn lost(&self) -> Option<&Lost> {
        self.0.lost.as_ref()
    }

    /// Says that the lock is lost, whatever kind of error tells it.
    #[cfg(feature = "redis")]
    pub(crate) fn with_lost(mut self, lost: Lost) -> Self {
        self.0.lost = Some(lost);
        self
    }

    pub(crate) fn unsupported(what: &str, scheme: &str) -> Self {
        Self::new(ErrorKind::Unsupported, format!("{what} is not something that {scheme} can do"))
    }

    pub(crate) fn not_ours(id: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Lost, format!("claim {id} does not hold the lock any more"))
    }
}

/// A configuration that cannot be used.
pub(crate) fn config(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, why)
}

impl From<Lost> for Error {
    fn from(lost: Lost) -> Self {
        let kind = match lost.cause {
            LossCause::Forked => ErrorKind::Misuse,
            _ => ErrorKind::Lost,
        };
        let mut error = Self::new(kind, lost.to_string());
        error.0.lost = Some(lost);
        error
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, message, name, backend, server, outcome_unknown, lost, .. } = &*self.0;
        match (backend, server) {
            (Some(backend), Some(server)) => write!(f, "{backend} at {server}: ")?,
            (Some(backend), None) => write!(f, "{backend}: ")?,
            (None, _) => {}
        }
        if let (Some(name), None) = (name, lost) {
            write!(f, "{name:?}: ")?;
        }
        write!(f, "{kind}: {message}")?;
        if *outcome_unknown {
            f.write_str(" (whether it was carried out is not known)")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, message, retryable, outcome_unknown, name, backend, server, source, .. } = &*self.0;
        f.debug_struct("Error")
            .field("kind", kind)
            .field("message", message)
            .field("retryable", retryable)
            .field("outcome_unknown", outcome_unknown)
            .field("name", name)
            .field("backend", backend)
            .field("server", server)
            .field("source", source)
            .finish()
    }
}

impl StdError for Error {
    /// What caused it and is not in its own text already: whoever prints the whole chain reads everything once.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let mut source: &(dyn StdError + 'static) = self.0.source.as_deref()?;
        while self.0.message.contains(&source.to_string()) {
            source = source.source()?;
        }
        Some(source)
    }
}

//! The one error type.

use crate::{LossCause, Lost, Name};
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// The result of every operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error. Contention is not an error: a busy lock is `None`.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum ErrorKind {
    /// The name of a lock is empty, too long, or holds a control character.
    InvalidName,
    /// Another argument is out of range; the message names it.
    InvalidInput,
    /// The call cannot work here: in an async task, after a fork, on a closed client.
    Misuse,
    /// A URL, a configuration file or a directory cannot be used as it is.
    Config,
    /// The store refuses: wrong password, missing privilege, a directory with a foreign owner.
    Denied,
    /// The store cannot be reached, or is out of space.
    Unavailable,
    /// Too few members of a [quorum](crate::quorum) can be reached, or vote.
    NoQuorum,
    /// This store does not support the operation.
    Unsupported,
    /// The place of the lock is taken by something that was not written by cotter.
    ForeignKey,
    /// Other processes use this semaphore with a different limit.
    LimitMismatch,
    /// The object of the call does not exist: a latch that was deleted or never created.
    NotFound,
    /// An exclusive lock was requested inside a shared one of the same owner.
    Upgrade,
    /// The lock was lost; see [`Error::lost`].
    Lost,
    /// The store sent an answer that cotter does not understand.
    Protocol,
}

impl ErrorKind {
    /// Returns a stable label for this kind, in `snake_case`: for metrics and log fields. With the feature `serde`, it is what the
    /// kind is written as.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidName => "invalid_name",
            Self::InvalidInput => "invalid_input",
            Self::Misuse => "misuse",
            Self::Config => "config",
            Self::Denied => "denied",
            Self::Unavailable => "unavailable",
            Self::NoQuorum => "no_quorum",
            Self::Unsupported => "unsupported",
            Self::ForeignKey => "foreign_key",
            Self::LimitMismatch => "limit_mismatch",
            Self::NotFound => "not_found",
            Self::Upgrade => "upgrade",
            Self::Lost => "lost",
            Self::Protocol => "protocol",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::InvalidName => "invalid name",
            Self::InvalidInput => "invalid input",
            Self::Misuse => "misuse",
            Self::Config => "configuration",
            Self::Denied => "denied",
            Self::Unavailable => "unavailable",
            Self::NoQuorum => "no quorum",
            Self::Unsupported => "unsupported",
            Self::ForeignKey => "foreign data",
            Self::LimitMismatch => "limit mismatch",
            Self::NotFound => "not found",
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

/// The error of an operation: what went wrong, where, and what to do about it, on one line.
///
/// It never contains a password.
///
/// ```
/// use cotter::{Client, ErrorKind};
/// let error = Client::connect("mongodb://db-1").wait().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Config);
/// assert!(!error.is_retryable() && error.lost().is_none());
///
/// let client = Client::connect("memory:").wait()?;
/// let error = client.mutex("two\nlines").lock().wait().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::InvalidName);
/// # Ok::<_, cotter::Error>(())
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    retryable: bool,
    outcome_unknown: bool,
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    contention: bool,
    name: Option<Name>,
    backend: Option<&'static str>,
    server: Option<String>,
    lost: Option<Lost>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Error {
    /// Creates an error of this kind. Only [`ErrorKind::Unavailable`] and [`ErrorKind::NoQuorum`] start out as
    /// retryable.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let retryable = matches!(kind, ErrorKind::Unavailable | ErrorKind::NoQuorum);
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            retryable,
            outcome_unknown: false,
            #[cfg(any(feature = "mysql", feature = "postgres"))]
            contention: false,
            name: None,
            backend: None,
            server: None,
            lost: None,
            source: None,
        }))
    }

    /// Sets the error that caused this one.
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// Sets the name of the lock.
    #[must_use]
    pub fn with_name(mut self, name: &Name) -> Self {
        self.0.name.get_or_insert_with(|| name.clone());
        self
    }

    /// Sets the scheme of the backend.
    #[must_use]
    pub fn with_backend(mut self, backend: &'static str) -> Self {
        self.0.backend.get_or_insert(backend);
        self
    }

    /// Names the server, without credentials.
    pub(crate) fn with_server(mut self, server: &str) -> Self {
        self.0.server.get_or_insert_with(|| server.to_owned());
        self
    }

    /// Sets whether trying again can help.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    /// Marks the outcome as unknown: the store may or may not have carried out the request.
    #[must_use]
    pub fn with_outcome_unknown(mut self) -> Self {
        self.0.outcome_unknown = true;
        self
    }

    /// Adds to the message.
    #[cfg(feature = "server")]
    pub(crate) fn with_remark(mut self, remark: &str) -> Self {
        self.0.message = format!("{}; {remark}", self.0.message);
        self
    }

    /// Takes that mark back, for a request that does no harm if it was carried out.
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    pub(crate) fn with_outcome_known(mut self) -> Self {
        self.0.outcome_unknown = false;
        self
    }

    /// Marks that others were in the way, which says nothing about whether the server carries out what it is told to.
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    pub(crate) fn with_contention(mut self) -> Self {
        self.0.contention = true;
        self
    }

    /// Returns true if others were in the way.
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    pub(crate) fn is_contention(&self) -> bool {
        self.0.contention
    }

    /// Returns the kind of this error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns true if the same call may succeed later without any change to the setup.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Returns true if the store may have carried out the request although no answer came.
    ///
    /// Such acquisitions are undone in the background.
    pub fn outcome_unknown(&self) -> bool {
        self.0.outcome_unknown
    }

    /// Returns the name of the lock, if the error concerns one.
    pub fn name(&self) -> Option<&Name> {
        self.0.name.as_ref()
    }

    /// Returns the scheme of the backend that reported the error.
    pub fn backend(&self) -> Option<&'static str> {
        self.0.backend
    }

    /// Returns how the lock was lost, if it was: for [`ErrorKind::Lost`], and for a release that found another holder.
    pub fn lost(&self) -> Option<&Lost> {
        self.0.lost.as_ref()
    }

    /// Records how the lock was lost, whatever the kind of the error.
    #[must_use]
    pub fn with_lost(mut self, lost: Lost) -> Self {
        self.0.lost = Some(lost);
        self
    }

    /// Creates the error of a backend that is asked for something beyond its
    /// [capabilities](crate::backend::Capabilities): `what` says what that is, as in "a shared lock", and `variant` is
    /// the [variant](crate::Info::variant) of the store.
    pub fn unsupported(what: &str, variant: &str) -> Self {
        Self::new(ErrorKind::Unsupported, format!("{variant} does not support {what}"))
    }

    /// Creates the error of a backend that is asked about a claim that does not, or no longer, hold the lock.
    pub fn not_ours(id: impl fmt::Display) -> Self {
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
            f.write_str(" (the request may or may not have been carried out)")?;
        }
        Ok(())
    }
}

/// The text of [`Display`](fmt::Display): what a `main` that returns the error prints.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl StdError for Error {
    /// The cause, unless its text is part of this error's text already, so that a printed chain repeats nothing.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let mut source: &(dyn StdError + 'static) = self.0.source.as_deref()?;
        while self.0.message.contains(&source.to_string()) {
            source = source.source()?;
        }
        Some(source)
    }
}

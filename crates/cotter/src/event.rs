//! What happens to the locks of a client, for observers.

use crate::{Error, ErrorKind, FencingToken, LossCause, Mode, Name};
use std::time::Duration;

/// Something that has happened to a lock, or to the connection with the store; see
/// [`Builder::observe`](crate::Builder::observe).
///
/// ```
/// # fn main() -> cotter::Result<()> {
/// use cotter::{Event, EventKind, LossCause, Mode, Name};
/// fn is_alarming(event: &Event) -> bool {
///     matches!(event.kind, EventKind::Lost { .. } | EventKind::Outage { .. })
/// }
/// // In a test of that function:
/// let busy = EventKind::Busy { waited: std::time::Duration::ZERO };
/// assert!(!is_alarming(&Event::of_lock(Name::new("orders")?, Mode::Exclusive, busy)));
/// # Ok(()) }
/// ```
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct Event {
    /// The lock. For [`Outage`](EventKind::Outage), the one whose request failed first; `None` where no lock is concerned.
    pub name: Option<Name>,
    /// How the lock is held or was asked for; `None` for events of the store.
    pub mode: Option<Mode>,
    /// What has happened.
    pub kind: EventKind,
}

impl Event {
    /// Creates an event of a lock, for tests of an observer.
    pub fn of_lock(name: Name, mode: Mode, kind: EventKind) -> Self {
        Self { name: Some(name), mode: Some(mode), kind }
    }

    /// Creates an event of the store, for tests of an observer.
    pub fn of_store(kind: EventKind) -> Self {
        Self { name: None, mode: None, kind }
    }
}

/// The kind of an [`Event`], with its details.
///
/// Each call that asks for a lock ends with one of [`Acquired`](Self::Acquired), [`Busy`](Self::Busy),
/// [`Failed`](Self::Failed) and [`GaveUp`](Self::GaveUp). Each lock that was acquired ends with one of
/// [`Released`](Self::Released) and [`Lost`](Self::Lost), with the same name and token.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub enum EventKind {
    /// A call got the lock.
    Acquired {
        /// The fencing token.
        token: FencingToken,
        /// From the call until the lock was granted.
        waited: Duration,
        /// Whether it came from another task of this process, without a request to the store.
        passed_on: bool,
    },
    /// A call found the lock taken for as long as it was ready to wait.
    Busy {
        /// How long that was.
        waited: Duration,
    },
    /// A call ended with an error.
    Failed {
        /// The kind of that error.
        kind: ErrorKind,
        /// From the call to the error.
        waited: Duration,
    },
    /// A call was dropped before it had ended.
    GaveUp {
        /// From the call until it was dropped.
        waited: Duration,
    },
    /// The store has confirmed the lock, before its lease ended.
    Renewed {
        /// The fencing token.
        token: FencingToken,
        /// From the request to the answer.
        took: Duration,
        /// For how long the lock is valid from now on without another renewal; `None` if it lives with the process.
        left: Option<Duration>,
    },
    /// A renewal failed. It is repeated until the lease ends.
    RenewalFailed {
        /// The fencing token.
        token: FencingToken,
        /// The kind of the error.
        kind: ErrorKind,
        /// For how long the lock is still valid; `None` if it lives with the process.
        left: Option<Duration>,
    },
    /// The lock was lost while it was held.
    Lost {
        /// The fencing token.
        token: FencingToken,
        /// Why it was lost.
        cause: LossCause,
        /// From its grant to the loss.
        held: Duration,
        /// For how long the store has not answered this client, if the lock was to be renewed and its time ended instead.
        /// Close to the ttl, the store was silent; much shorter, this lock alone was not confirmed; much longer, this process
        /// was paused.
        silent_for: Option<Duration>,
    },
    /// The lock was given back.
    Released {
        /// The fencing token.
        token: FencingToken,
        /// From its grant until it was given back.
        held: Duration,
        /// To whom.
        to: ReleasedTo,
    },
    /// A request of the client's own failed: a renewal, a release, an attempt to acquire that is repeated. Further failures
    /// are counted until the store answers again.
    Outage {
        /// The operation: `acquiring`, `renewing`, `releasing` or `undoing an unanswered attempt`.
        doing: &'static str,
        /// The error.
        error: Error,
    },
    /// The store answers again, and no request has failed for a second.
    Recovered {
        /// How long the outage has lasted.
        after: Duration,
        /// How many requests failed.
        failures: u64,
    },
    /// The observers were too slow: as many events did not reach them.
    Dropped {
        /// How many.
        events: u64,
    },
}

impl EventKind {
    /// Returns a stable label for this kind, in `snake_case`: for metrics and log fields.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Acquired { .. } => "acquired",
            Self::Busy { .. } => "busy",
            Self::Failed { .. } => "failed",
            Self::GaveUp { .. } => "gave_up",
            Self::Renewed { .. } => "renewed",
            Self::RenewalFailed { .. } => "renewal_failed",
            Self::Lost { .. } => "lost",
            Self::Released { .. } => "released",
            Self::Outage { .. } => "outage",
            Self::Recovered { .. } => "recovered",
            Self::Dropped { .. } => "dropped",
        }
    }
}

/// To whom a lock was given back.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum ReleasedTo {
    /// The store, which has confirmed it. It may keep the name locked for the time of
    /// [`keep_for`](crate::Guard::keep_for).
    Store,
    /// Another task of this process, without a request to the store.
    Task,
    /// A [`Ticket`](crate::Ticket).
    Ticket,
    /// The store, which has not answered: the lock is free when its lease has ended, or earlier.
    Silence,
}

impl ReleasedTo {
    /// Returns a stable label, in `snake_case`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Task => "task",
            Self::Ticket => "ticket",
            Self::Silence => "silence",
        }
    }
}

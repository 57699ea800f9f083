//! What a request to pause or resume has changed, and what is the case after it.

use crate::notes::Pause;
use crate::{EventKind, UnixTime};

/// The result of a request to pause or resume a job or a group.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pausing {
    /// Whether the request has changed anything.
    pub changed: bool,
    /// The pause that is in effect now.
    pub pause: Option<PausedBy>,
}

/// A pause that is in effect.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PausedBy {
    /// The operator that asked for it.
    pub by: String,
    /// The reason, if one was given.
    pub reason: Option<String>,
    /// When it was asked for; `None` if an earlier version was.
    pub since: Option<UnixTime>,
    /// When it ends by itself; `None` if it has to be resumed.
    pub until: Option<UnixTime>,
    /// Whether the whole group is paused, and not the job alone.
    pub of_group: bool,
}

impl Pausing {
    pub(crate) fn new(changed: bool, own: Option<Pause>, group: Option<Pause>) -> Self {
        let of_group = own.is_none();
        let pause = own.or(group).map(|Pause { by, reason, since, until }| PausedBy {
            by,
            reason: (!reason.is_empty()).then_some(reason),
            since,
            until,
            of_group,
        });
        Self { changed, pause }
    }
}

/// The event for a pause.
pub(crate) fn begun(pause: &Pause) -> EventKind {
    let Pause { by, reason, until, .. } = pause.clone();
    EventKind::Paused { yes: true, by, reason, until }
}

/// The event for its end, by itself or by this operator.
pub(crate) fn over(pause: Option<&Pause>, resumed_at: Option<UnixTime>, by: &str) -> EventKind {
    let by_itself = pause.is_some_and(|pause| pause.until.is_some() && pause.until == resumed_at);
    let by = if by_itself { String::new() } else { by.to_owned() };
    EventKind::Paused { yes: false, by, reason: String::new(), until: None }
}

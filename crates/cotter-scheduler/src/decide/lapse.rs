//! When the definition in effect lapses, although it outranks another one: nobody runs it any more.
//!
//! ```text
//! due ── OVERDUE ──► doubt, in the note ── DOUBT ──► lapsed: a host that stands by takes over
//!                          │
//!                          └── a host that has this definition looks, and takes the doubt out of the note
//! ```
//!
//! All of it under the lock, so that a run that goes on forbids it. A host that is alive looks at a job that it could not start
//! at least once a minute, even if all its workers are busy, and so answers in time.

use super::stored::due_since;
use crate::UnixTime;
use crate::notes::{JobControl, State};
use std::time::Duration;

/// How long something has to be due before somebody doubts that the definition is run by anyone.
pub(crate) const OVERDUE: Duration = Duration::from_secs(30);

/// How long the doubt has to stand. It is longer than the pause between two looks of a host that cannot start the job.
pub(crate) const DOUBT: Duration = Duration::from_secs(90);

/// What a host that stands by makes of the definition in effect.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is in effect, and nothing is due before this.
    Holds(Option<UnixTime>),
    /// Something is overdue, which nobody has noted yet.
    Doubtful,
    /// Nobody has started what is due since then.
    Lapsed(UnixTime),
}

/// Judges the definition in effect for somebody who stands by.
pub(super) fn judge(state: &State, control: &JobControl, now: UnixTime) -> Verdict {
    let Some(due) = due_since(state, control) else { return Verdict::Holds(None) };
    let overdue = due + OVERDUE;
    if now < overdue {
        return Verdict::Holds(Some(overdue));
    }
    // A doubt from before belongs to something else, which was started after all.
    match state.doubted.filter(|at| *at >= overdue) {
        None => Verdict::Doubtful,
        Some(at) if now < at + DOUBT => Verdict::Holds(Some(at + DOUBT)),
        Some(_) => Verdict::Lapsed(due),
    }
}

//! Deleting what is left of names that nobody uses any more.

use super::Cursor;
use crate::Name;
use std::fmt;
use std::time::{Duration, SystemTime};

/// The names to prune: [`Admin::prune`](crate::Admin::prune).
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneOrder {
    /// Only names that have been unused for this long.
    pub unused_for: Duration,
    /// Only names that begin with this prefix.
    pub prefix: String,
    /// Also names with notes, and their notes, if the notes are as old.
    pub notes_too: bool,
    /// Deletes nothing, and reports what would be deleted.
    pub dry_run: bool,
}

impl PruneOrder {
    /// Selects all names that have been unused for this long, except those with notes.
    ///
    /// Choose a time that is longer than the clock of the host could ever be set back: a name that is pruned loses its
    /// counter, and from then on only the clock keeps its tokens rising.
    pub fn unused_for(time: Duration) -> Self {
        Self { unused_for: time, prefix: String::new(), notes_too: false, dry_run: false }
    }

    /// Selects only names that begin with this prefix.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Also selects names with notes, and their notes, if none of the notes has been written for as long. Jobs of a
    /// scheduler, latches and slots that are done are notes: a job that was paused longer ago is no longer paused.
    #[must_use]
    pub fn with_notes(mut self) -> Self {
        self.notes_too = true;
        self
    }

    /// Deletes nothing, and reports what would be deleted.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }
}

/// A name that has been unused for long enough, and its outcome.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pruned {
    /// The name.
    pub name: Name,
    /// When it was last used, to within half an hour.
    pub last_used: SystemTime,
    /// The outcome.
    pub outcome: PruneOutcome,
}

impl Pruned {
    /// Creates the result for one name.
    pub fn new(name: Name, last_used: SystemTime, outcome: PruneOutcome) -> Self {
        Self { name, last_used, outcome }
    }
}

/// The outcome for a name that has been unused for long enough.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum PruneOutcome {
    /// It was deleted, or would have been.
    Deleted,
    /// It was kept, because it has notes.
    HasNotes,
    /// It was kept, because its last token is ahead of the clock, which would then repeat it.
    AheadOfClock,
    /// It was kept, because this process may not delete it, for this reason.
    Denied(String),
}

impl fmt::Display for PruneOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deleted => "deleted",
            Self::HasNotes => "kept: it has notes",
            Self::AheadOfClock => "kept: its last token is ahead of the clock",
            Self::Denied(why) => return write!(f, "kept: {why}"),
        })
    }
}

/// One page of the result of [`Admin::prune`](super::Admin::prune).
#[non_exhaustive]
#[derive(Debug, Clone, Default)]
pub struct PrunePage {
    /// The names of this page; may be empty even if more pages follow.
    pub names: Vec<Pruned>,
    /// The start of the next page; `None` on the last one.
    pub next: Option<Cursor>,
}

impl PrunePage {
    /// Creates a page with the start of the next one.
    pub fn new(names: Vec<Pruned>, next: Option<Cursor>) -> Self {
        Self { names, next }
    }
}

//! The notes in the store.
//!
//! | note | of | written by | file |
//! |---|---|---|---|
//! | `""` | each job's lock | its holder, before a slot starts and after it ends | `state` |
//! | `history` | each job's lock | its holder | `history` |
//! | `control` | the group's name | operators, compare and set | `control` |
//! | `jobs-0` to `jobs-f` | the group's name | runners at their start, compare and set | `roster` |
//!
//! `stamp` serializes instants.

mod control;
mod history;
pub(crate) mod roster;
mod stamp;
mod state;

pub(crate) use control::{Control, JobControl};
pub use history::Entry;
pub(crate) use history::History;
pub(crate) use state::{LastRun, State};

use crate::{Error, ErrorKind};

/// The key of the history.
pub(crate) const HISTORY: &str = "history";
/// The key of the requests.
pub(crate) const CONTROL: &str = "control";

/// The error for a note that cannot be parsed.
fn foreign(what: &str, error: &serde_json::Error) -> Error {
    let why = format!(
        "the note with the {what} cannot be parsed ({error}); was it written by another program or version?"
    );
    Error::new(ErrorKind::ForeignNote, why)
}

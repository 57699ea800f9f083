//! What is kept in the store.
//!
//! | note | of | written by | file |
//! |---|---|---|---|
//! | `""` | each job's lock | its holder, before a slot starts and after it ends | `state` |
//! | `history` | each job's lock | its holder | `history` |
//! | `control` | the group's name | who asks, compare and set | `control` |
//! | `jobs-0` to `jobs-f` | the group's name | runners at their start, compare and set | `roster` |

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

/// The key of a history.
pub(crate) const HISTORY: &str = "history";
/// The key of what operators ask.
pub(crate) const CONTROL: &str = "control";

/// What a note says that cannot be read.
fn foreign(what: &str, error: &serde_json::Error) -> Error {
    let why = format!(
        "the note with the {what} cannot be read ({error}); was it written by another program or version?"
    );
    Error::new(ErrorKind::ForeignNote, why)
}

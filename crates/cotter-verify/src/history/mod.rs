//! What happened in a run.
//!
//! | file | concept |
//! |---|---|
//! | `event` | what is recorded |
//! | `line` | an event as a line of JSON |
//! | `believed` | holds and waits, made of events |
//! | `track` | one process, as its events come |
//! | `recorder` | where events are recorded |

mod believed;
mod event;
mod line;
mod recorder;
mod track;

pub use believed::{Believed, End, Hold, Wait};
pub use event::{Bounds, Event, What};
pub use line::{Mistake, read, write};
pub(crate) use recorder::Recorder;

/// Milliseconds, for texts.
pub(crate) fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

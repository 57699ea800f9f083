//! What happened in a run.
//!
//! | file | concept |
//! |---|---|
//! | `event` | what is recorded |
//! | `line` | an event as a line of JSON |
//! | `span` | holds and waits |
//! | `believed` | a run, made of events |
//! | `track` | one process, as its events come |
//! | `recorder` | where events are recorded |

mod believed;
mod event;
mod line;
mod recorder;
mod span;
mod track;

pub use believed::Believed;
pub use event::{Bounds, Event, What};
pub use line::{Mistake, read, write};
pub(crate) use recorder::Recorder;
pub use span::{End, Hold, Wait};

/// Milliseconds, for texts.
pub(crate) fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

//! One process, as its events come.

use super::{Event, What};

/// Where a process is between two of its events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum State {
    /// It wants nothing.
    #[default]
    Idle,
    /// It wants the name of this wait.
    Waiting(usize),
    /// It believes in this hold.
    Holding(usize),
    /// It has said that this hold is lost.
    Lost,
    /// It was asked to release.
    Releasing,
    /// It is not running.
    Dead,
}

impl State {
    /// What is wrong with an event in this state, if anything.
    pub(super) fn refuses(self, event: &Event) -> Option<String> {
        let process = event.process;
        let is_wrong = match (&event.what, self) {
            // Where the start is not recorded, the first thing that a process does stands for it.
            (What::Started, _) | (What::Killed | What::Ended | What::Paused | What::Continued, _) => false,
            (What::Asked { .. }, State::Idle | State::Lost) => false,
            (What::Acquired { .. }, State::Waiting(_)) => false,
            (
                What::Renewed { .. } | What::Lost { .. },
                State::Holding(_) | State::Lost | State::Releasing,
            ) => false,
            (What::Releasing, State::Holding(_) | State::Lost) => false,
            (What::Released, State::Releasing) => false,
            (What::Failed { .. }, State::Waiting(_) | State::Releasing) => false,
            _ => true,
        };
        is_wrong.then(|| {
            let now = match self {
                State::Idle => "has asked for nothing",
                State::Waiting(_) => "has asked and has no answer",
                State::Holding(_) => "holds a lock",
                State::Lost => "has lost its lock",
                State::Releasing => "was asked to release and has not answered",
                State::Dead => "is not running",
            };
            format!("process {process} {now}: this event cannot follow")
        })
    }
}

//! The events of a history.

use cotter::Mode;
use serde::{Deserialize, Serialize};

/// Something that happened to a process, at a time of [`now`](crate::now).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at: u64,
    /// To which process; a process that is started again gets a new number.
    pub process: u32,
    /// What.
    pub what: What,
}

/// The kinds of events. Attempts are numbered within a process.
///
/// What ends a belief (`Releasing`) is written before the call, or a kill in between would hide it and make an
/// overlap of an orderly hand-over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// Written before the lock is asked for.
    Wanted {
        /// Which attempt of this process.
        attempt: u64,
        /// Of which lock.
        name: String,
        /// How.
        mode: Use,
        /// Whether it waits in line; a mere try does not.
        patient: bool,
    },
    /// The guard was returned.
    Acquired {
        /// Which attempt.
        attempt: u64,
        /// Its fencing token.
        token: u64,
        /// Until when it is valid without a renewal.
        deadline: Option<u64>,
    },
    /// Written before the guard is given back.
    Releasing {
        /// Which attempt.
        attempt: u64,
        /// Until when it would have been valid.
        deadline: Option<u64>,
    },
    /// The answer to the release.
    Released {
        /// Which attempt.
        attempt: u64,
        /// In words.
        answer: String,
    },
    /// The loss was told.
    Lost {
        /// Which attempt.
        attempt: u64,
        /// Why.
        cause: String,
        /// Until when it was valid.
        deadline: Option<u64>,
    },
    /// The wait ended without a guard.
    Left {
        /// Which attempt.
        attempt: u64,
        /// Busy, cancelled, or an error.
        why: String,
    },
    /// The process ends in order: whatever it wanted must have been answered.
    Finished,
    /// By the injector, before the signal is sent.
    Killed,
    /// By the injector, before the signal is sent.
    Stopped,
    /// By the injector, after the signal was sent.
    Continued,
}

/// How a name is used; [`Mode`] as it is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Use {
    /// One holder.
    Exclusive,
    /// Many holders.
    Shared,
    /// Some permits.
    Permits {
        /// So many.
        take: u32,
        /// Of so many.
        of: u32,
    },
}

impl From<Mode> for Use {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Exclusive => Self::Exclusive,
            Mode::Shared => Self::Shared,
            Mode::Permits { take, of } => Self::Permits { take, of },
            other => panic!("a history does not know {other:?} yet"),
        }
    }
}

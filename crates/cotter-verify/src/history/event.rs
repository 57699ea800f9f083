//! The events of a history.

use std::time::Duration;

/// Something that happened at a time of the clock that all processes of a host share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When, in nanoseconds.
    pub at: u64,
    /// To which process; 0 is the run itself.
    pub process: u32,
    /// What.
    pub what: What,
}

/// The kinds of events. A process asks for one name at a time, so that all but `Asked` need no name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The run has begun.
    Run(Bounds),
    /// The process was started, also again.
    Started,
    /// Before it was asked to acquire this name.
    Asked {
        /// The name of the lock.
        name: String,
    },
    /// It said that it has the lock.
    Acquired {
        /// Its fencing token, if it has one.
        token: Option<u64>,
        /// Until when it believes that without a renewal, if that ends by itself.
        until: Option<u64>,
    },
    /// It said that its belief lasts longer.
    Renewed {
        /// Until when.
        until: u64,
    },
    /// It said that it has lost the lock.
    Lost {
        /// Until when it believed to have it, if that was earlier.
        until: Option<u64>,
    },
    /// Before it was asked to release.
    Releasing,
    /// It answered the release.
    Released,
    /// It could not acquire or release.
    Failed {
        /// Why.
        text: String,
    },
    /// Before it was stopped, and it did stop.
    Paused,
    /// After it was continued.
    Continued,
    /// Before it was killed, and it did die.
    Killed,
    /// It has ended, in order or by itself.
    Ended,
    /// Something of the operator's began.
    During {
        /// The command.
        text: String,
    },
    /// It has ended.
    DuringEnded {
        /// Whether it succeeded.
        succeeded: bool,
    },
    /// The store still had this when all processes had ended.
    Left {
        /// The name of the lock.
        name: String,
        /// What.
        text: String,
    },
    /// The run is over.
    Done {
        /// How many faults were planned.
        planned: usize,
    },
}

/// What a run promises to its judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The ttl of the locks: a shorter pause is no fault.
    pub ttl: Duration,
    /// Whoever waits for longer, while nobody has the lock, waits for ever.
    pub patience: Duration,
    /// So many may hold a name at once.
    pub permits: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        let ttl = Duration::from_secs(1);
        Self { ttl, patience: Self::patience(ttl), permits: 1 }
    }
}

impl Bounds {
    /// Long enough for a killed holder's lease, for waiters that are passed over, and for a busy machine.
    #[must_use]
    pub fn patience(ttl: Duration) -> Duration {
        Duration::from_secs(10) + 3 * ttl
    }
}

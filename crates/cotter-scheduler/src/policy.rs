//! What becomes of slots that could not be run when they were due.

use std::fmt;

/// What becomes of slots that passed while nobody ran, or that are later than
/// [`late_within`](crate::Job::late_within).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Misfire {
    /// They are dropped, with an event.
    #[default]
    Skip,
    /// The latest of them is run, once; a slot that is on time covers it.
    Once,
    /// Each of them is run, in order.
    All,
}

/// What becomes of a run whose process died or lost its lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum OnCrash {
    /// Nothing: the slot was started once.
    #[default]
    Skip,
    /// The same slot is run again, [`Job::MOST_CRASHES`](crate::Job::MOST_CRASHES) times in all at most.
    Rerun,
}

/// What becomes of a slot whose lock somebody else holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Busy {
    /// The runner waits, without taking a worker, until the misfire window ends; then what the note says decides.
    #[default]
    Wait,
    /// The slot is left to the one who holds the lock. What that one does not run is looked at again with the next slot,
    /// and run then if it is not late.
    Skip,
}

/// How a run ended.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// As it should.
    Ok,
    /// With this error.
    Failed(String),
    /// It panicked, with this message.
    Panicked(String),
    /// [`max_run`](crate::Job::max_run) was over.
    TimedOut,
    /// The lock was lost.
    Lost,
    /// The runner was stopped, and the grace was over.
    Stopped,
    /// Its process died, or lost its lock, before it could say how it ended.
    Crashed,
}

impl Ending {
    /// One word, as histories have it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed(_) => "failed",
            Self::Panicked(_) => "panicked",
            Self::TimedOut => "timed out",
            Self::Lost => "lost",
            Self::Stopped => "stopped",
            Self::Crashed => "crashed",
        }
    }

    /// What was said about it, where something was.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Failed(why) | Self::Panicked(why) => Some(why),
            _ => None,
        }
    }

    /// Whether [`retries`](crate::Job::retries) are for this.
    pub(crate) fn may_be_retried(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Panicked(_) | Self::TimedOut)
    }

    pub(crate) fn parse(word: &str, reason: Option<&str>) -> Option<Self> {
        let reason = reason.unwrap_or_default().to_owned();
        let all = [
            Self::Ok,
            Self::Failed(reason.clone()),
            Self::Panicked(reason),
            Self::TimedOut,
            Self::Lost,
            Self::Stopped,
            Self::Crashed,
        ];
        all.into_iter().find(|e| e.word() == word)
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        self.reason().map_or(Ok(()), |why| write!(f, ": {why}"))
    }
}

//! Policies for slots that could not be run when they were due.

use std::fmt;

/// The policy for slots that passed while no scheduler was running, or that are later than
/// [`late_within`](crate::Job::late_within).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Misfire {
    /// Drops them, with an event, except for the newest if it is on time.
    #[default]
    Skip,
    /// Runs the latest of them once, unless a slot is on time.
    Once,
    /// Runs each of them, in order.
    All,
}

/// The policy for a run whose process died or lost its lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum OnCrash {
    /// Does nothing: the slot was started once.
    #[default]
    Skip,
    /// Runs the same slot again, at most [`Job::MAX_CRASHES`](crate::Job::MAX_CRASHES) times in total.
    Rerun,
}

/// The policy for a run that is stopped because its scheduler stops, and the grace period has passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum OnStop {
    /// Does nothing: the slot was started once.
    #[default]
    Skip,
    /// Runs the same slot again, on another replica or when this one is back. There is no limit: a process that is stopped on
    /// purpose says nothing about the job. It uses up no retry.
    Rerun,
}

impl From<OnCrash> for OnStop {
    fn from(on_crash: OnCrash) -> Self {
        match on_crash {
            OnCrash::Skip => Self::Skip,
            OnCrash::Rerun => Self::Rerun,
        }
    }
}

/// The policy for a slot whose lock has another holder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Busy {
    /// Waits, without a worker, until the misfire window ends; then the note decides.
    #[default]
    Wait,
    /// Leaves the slot to the holder of the lock. If the holder does not run it, it is considered again with the next
    /// slot, and then run if it is not late.
    Skip,
}

/// The policy for a slot that comes while the last run of the job is in progress, on any host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Concurrency {
    /// The run continues, and the slot waits or is skipped, depending on the trigger.
    #[default]
    Forbid,
    /// The run is stopped, and one for the slot starts when it has ended. Has no effect for a fixed delay, which has no
    /// slots during a run.
    Replace,
}

/// The outcome of a run.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It succeeded.
    Ok,
    /// It failed with this error.
    Failed(String),
    /// It panicked, with this message.
    Panicked(String),
    /// It reached [`max_run`](crate::Job::max_run).
    TimedOut,
    /// It lost its lock.
    Lost,
    /// It was stopped because the next slot had come: [`Concurrency::Replace`].
    Replaced,
    /// The scheduler was stopped, and the grace period had passed.
    Stopped,
    /// This operator has [stopped](crate::Jobs::stop) it.
    StoppedBy(String),
    /// Its process died, or lost its lock, before the end was recorded.
    Crashed,
}

impl Ending {
    /// Returns a short name, as used in the history.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed(_) => "failed",
            Self::Panicked(_) => "panicked",
            Self::TimedOut => "timed out",
            Self::Lost => "lost",
            Self::Replaced => "replaced",
            Self::Stopped | Self::StoppedBy(_) => "stopped",
            Self::Crashed => "crashed",
        }
    }

    /// Returns the error or panic message, if there is one, or the operator that has stopped it.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Failed(why) | Self::Panicked(why) | Self::StoppedBy(why) => Some(why),
            _ => None,
        }
    }

    /// The short names of all endings.
    pub fn words() -> impl Iterator<Item = &'static str> {
        Self::all("").into_iter().map(|ending| ending.word())
    }

    /// The first letter of its name, which it shares with no other.
    pub(crate) fn letter(&self) -> char {
        self.word().chars().next().unwrap_or_default()
    }

    /// The ending with this letter, without a reason. That of a newer version is a failure.
    pub(crate) fn of_letter(letter: char) -> Self {
        let known = Self::all("").into_iter().find(|ending| ending.letter() == letter);
        known.unwrap_or_else(|| Self::Failed(String::new()))
    }

    /// Whether [`retries`](crate::Job::retries) apply.
    pub(crate) fn may_be_retried(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Panicked(_) | Self::TimedOut)
    }

    pub(crate) fn parse(word: &str, reason: Option<&str>) -> Option<Self> {
        match reason {
            Some(by) if word == Self::Stopped.word() => Some(Self::StoppedBy(by.to_owned())),
            _ => Self::all(reason.unwrap_or_default()).into_iter().find(|ending| ending.word() == word),
        }
    }

    /// One for each word, those that have a reason with this one.
    fn all(reason: &str) -> [Self; 8] {
        [
            Self::Ok,
            Self::Failed(reason.to_owned()),
            Self::Panicked(reason.to_owned()),
            Self::TimedOut,
            Self::Lost,
            Self::Replaced,
            Self::Stopped,
            Self::Crashed,
        ]
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        if let Self::StoppedBy(who) = self {
            return write!(f, " by {who}");
        }
        self.reason().map_or(Ok(()), |why| write!(f, ": {why}"))
    }
}

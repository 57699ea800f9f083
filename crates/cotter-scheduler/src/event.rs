//! What a runner has to tell.

use crate::{Ending, UnixTime};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Something that happened, in one line with `Display`. For the eyes of people and the counters of machines; nothing
/// has to be done about it.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct Event {
    /// The job; `None` where it is about the whole group.
    pub job: Option<Arc<str>>,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// A run has started.
    Started {
        /// The instant that it is for.
        slot: UnixTime,
        /// Which attempt it is.
        attempt: u32,
        /// Its fencing token.
        token: u64,
    },
    /// A run is over.
    Ended {
        /// The instant that it was for.
        slot: UnixTime,
        /// How.
        outcome: Ending,
        /// How long it took.
        took: Duration,
    },
    /// A run will be repeated.
    Retrying {
        /// The instant that it is for.
        slot: UnixTime,
        /// The number of the next attempt.
        attempt: u32,
        /// In how long.
        after: Duration,
    },
    /// Cron slots passed while the last run was going on.
    Skipped {
        /// How many.
        n: u64,
    },
    /// Slots were missed and are dropped, or covered by one that is run.
    Missed {
        /// How many, counted up to 10,000.
        n: u64,
    },
    /// The backlog of a fixed rate was too long: its oldest slots became one.
    Merged {
        /// How many were dropped.
        n: u64,
    },
    /// A run was found that has never ended.
    Crashed {
        /// The instant that it was for.
        slot: UnixTime,
        /// Its fencing token.
        token: u64,
        /// Whether its slot is run again.
        again: bool,
    },
    /// This runner starts nothing (of this job) for now.
    StandsBy {
        /// Why, and what to do.
        why: String,
    },
    /// It does again.
    Again,
    /// The note was ahead of the store's clock and was brought back: one slot may be given up.
    Alarm,
    /// Somebody else held the lock until it was too late for the slot, or is left to it.
    Busy,
    /// The store does not answer. Told once.
    StoreDown {
        /// What it said last.
        error: String,
    },
    /// The store answers again.
    StoreBack,
    /// A job cannot be run until somebody mends what is wrong; it is looked at again at its next slot.
    Broken {
        /// What is wrong.
        error: String,
    },
    /// An operator has paused the job, or ended the pause.
    Paused {
        /// Which.
        yes: bool,
        /// Who.
        by: String,
    },
}

impl EventKind {
    /// Whether somebody should look at it.
    pub fn is_warning(&self) -> bool {
        match self {
            Self::Ended { outcome, .. } => *outcome != Ending::Ok,
            Self::Started { .. } | Self::Again | Self::StoreBack | Self::Busy | Self::Paused { .. } => false,
            Self::Skipped { .. } => false,
            _ => true,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(job) = &self.job {
            write!(f, "{job}: ")?;
        }
        self.kind.fmt(f)
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { slot, attempt: 1, token } => {
                write!(f, "started for {slot:.3} with token {token}")
            }
            Self::Started { slot, attempt, token } => {
                write!(f, "started for {slot:.3} with token {token}, attempt {attempt}")
            }
            Self::Ended { slot, outcome, took } => {
                write!(f, "ended for {slot:.3} after {took:.1?}: {outcome}")
            }
            Self::Retrying { slot, attempt, after } => {
                write!(f, "attempt {attempt} for {slot:.3} follows in {after:.1?}")
            }
            Self::Skipped { n } => write!(f, "{n} slots passed while it ran and are skipped"),
            Self::Missed { n } => write!(f, "{n} slots were missed"),
            Self::Merged { n } => write!(f, "the backlog is too long, its oldest {n} slots are dropped"),
            Self::Crashed { slot, token, again } => {
                let then = if *again { "; it is run again" } else { "" };
                write!(f, "the run for {slot:.3} with token {token} has never ended{then}")
            }
            Self::StandsBy { why } => write!(f, "stands by: {why}"),
            Self::Again => f.write_str("does not stand by any more"),
            Self::Alarm => f.write_str("its note was ahead of the store's clock and was brought back"),
            Self::Busy => f.write_str("somebody else holds its lock"),
            Self::StoreDown { error } => write!(f, "the store does not answer, will try again: {error}"),
            Self::StoreBack => f.write_str("the store answers again"),
            Self::Broken { error } => write!(f, "cannot be run: {error}"),
            Self::Paused { yes: true, by } => write!(f, "paused by {by}"),
            Self::Paused { yes: false, by } => write!(f, "resumed by {by}"),
        }
    }
}

/// Who is told.
#[derive(Clone)]
pub(crate) struct Observer(Arc<dyn Fn(&Event) + Send + Sync>);

impl Observer {
    pub(crate) fn new(observe: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    pub(crate) fn tell(&self, job: Option<&Arc<str>>, kind: EventKind) {
        let event = Event { job: job.cloned(), kind };
        // What is wrong with an observer must not stop jobs.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (self.0)(&event)));
    }
}

impl Default for Observer {
    fn default() -> Self {
        Self::new(|event| match event.kind.is_warning() {
            true => tracing::warn!("{event}"),
            false => tracing::info!("{event}"),
        })
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").finish_non_exhaustive()
    }
}

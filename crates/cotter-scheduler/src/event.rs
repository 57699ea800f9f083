//! Events that a runner emits.

use crate::{Ending, UnixTime};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// An event of the scheduler, for logs and metrics; `Display` writes it on one line. No reaction is required.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct Event {
    /// The job; `None` if the event concerns the whole group.
    pub job: Option<Arc<str>>,
    /// The kind of event.
    pub kind: EventKind,
}

/// The kind of an [`Event`], with its details.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// A run has started.
    Started {
        /// The slot of the run.
        slot: UnixTime,
        /// The number of the attempt.
        attempt: u32,
        /// Its fencing token.
        token: u64,
        /// How much later than its slot the run has started, by the store's clock, not counting the jitter of the job; for a
        /// [requested](crate::Jobs::trigger_slot) slot, how much later than the request, or than the attempt before if another
        /// process made that.
        late: Duration,
    },
    /// A run has ended.
    Ended {
        /// The slot of the run.
        slot: UnixTime,
        /// The number of the attempt.
        attempt: u32,
        /// Its fencing token.
        token: u64,
        /// How the run ended.
        outcome: Ending,
        /// How long it took.
        took: Duration,
        /// Whether this is the last event about the slot: the end was recorded, and the run is not retried. If the end
        /// was not recorded, the replica that notices that emits [`Crashed`](Self::Crashed).
        last: bool,
    },
    /// A run that failed will be retried.
    Retrying {
        /// The slot of the run.
        slot: UnixTime,
        /// The number of the next attempt.
        attempt: u32,
        /// The delay before it.
        after: Duration,
    },
    /// Cron slots passed during the last run.
    Skipped {
        /// How many slots.
        n: u64,
        /// Whether there may be more of them, which were not counted.
        more: bool,
    },
    /// Slots were missed and are dropped, or covered by one that is run.
    Missed {
        /// How many slots.
        n: u64,
        /// Whether there may be more of them, which were not counted: counting ends at 10,000.
        more: bool,
    },
    /// The backlog of a fixed rate was too long: its oldest slots were merged into one.
    Merged {
        /// How many slots were dropped.
        n: u64,
    },
    /// A run that never ended was found.
    Crashed {
        /// The slot of the run.
        slot: UnixTime,
        /// Its fencing token.
        token: u64,
        /// Whether the slot is run again.
        again: bool,
    },
    /// This process starts no more runs (of this job) for now.
    Standby {
        /// Why, and what to do.
        why: String,
    },
    /// No replica runs the definition that was in effect: this process, which stood by, takes over with its own.
    TakenOver {
        /// Who wrote that definition, when, and what is different.
        why: String,
    },
    /// This process starts runs (of this job) again.
    Active,
    /// The note was ahead of the store's clock and was reset: one slot may be lost.
    Alarm,
    /// Another holder had the lock until it was too late for the slot, or the slot is left to that holder.
    Busy,
    /// The next run has waited for five seconds for a lock or a limit that it shares with others. Reported once for each wait.
    Waiting {
        /// The name of the lock or the limit.
        lock: String,
        /// The label of a holder, if there was one when this was looked up.
        held_by: Option<String>,
    },
    /// The store does not answer, or does not permit that the end of a run is recorded. Reported once per outage.
    StoreDown {
        /// The last error.
        error: String,
    },
    /// The store answers again.
    StoreBack,
    /// A job cannot run until a problem is fixed; it is tried again at its next slot.
    Broken {
        /// The problem.
        error: String,
    },
    /// Requests of operators cannot be read, and have no effect until a problem is fixed; jobs run as they did before.
    /// Reported once.
    RequestsUnreadable {
        /// The problem.
        error: String,
    },
    /// The store cannot keep the lock for [`at_least`](crate::Job::at_least) without this process, which therefore
    /// stays for the rest of that time, within the grace period.
    Draining {
        /// For how long.
        rest: Duration,
    },
    /// An operator paused or resumed the job, or the whole group. Also emitted at the start for everything that is
    /// paused.
    Paused {
        /// True if it is paused, false if it is resumed.
        yes: bool,
        /// The operator; empty if it is no longer paused because the time of the pause is over, or the job was forgotten.
        by: String,
        /// The reason that the operator has given for a pause; may be empty.
        reason: String,
        /// When the pause ends by itself, by the store's clock; `None` if it has to be resumed.
        until: Option<UnixTime>,
    },
}

impl EventKind {
    /// Returns true if the event should be logged as a warning.
    pub fn is_warning(&self) -> bool {
        match self {
            Self::Ended { outcome, .. } => *outcome != Ending::Ok,
            Self::Started { .. } | Self::Active | Self::StoreBack | Self::Busy | Self::Paused { .. } => false,
            Self::Skipped { .. } | Self::Draining { .. } | Self::Waiting { .. } => false,
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
            Self::Started { slot, attempt: 1, token, .. } => {
                write!(f, "started for {} with token {token}", short(*slot))
            }
            Self::Started { slot, attempt, token, .. } => {
                write!(f, "started for {} with token {token}, attempt {attempt}", short(*slot))
            }
            Self::Ended { slot, outcome, took, last, .. } => {
                let cut = *outcome == Ending::Stopped && !last;
                let then = if cut { "; the slot is run again" } else { "" };
                write!(f, "ended for {} after {took:.1?}: {outcome}{then}", short(*slot))
            }
            Self::Retrying { slot, attempt, after } => {
                write!(f, "attempt {attempt} for {} follows in {after:.1?}", short(*slot))
            }
            Self::Skipped { n: 1, more: false } => f.write_str("1 slot passed during the run and is skipped"),
            Self::Skipped { n, more } => {
                write!(f, "{} slots passed during the run and are skipped", count(*n, *more))
            }
            Self::Missed { n: 1, more: false } => f.write_str("1 slot was missed"),
            Self::Missed { n, more } => write!(f, "{} slots were missed", count(*n, *more)),
            Self::Merged { n: 1 } => f.write_str("the backlog is too long: its oldest slot is dropped"),
            Self::Merged { n } => write!(f, "the backlog is too long: its oldest {n} slots are dropped"),
            Self::Crashed { slot, token, again } => {
                let then = if *again { "; the slot is run again" } else { "" };
                write!(f, "the run for {} with token {token} never ended{then}", short(*slot))
            }
            Self::Standby { why } => write!(f, "stands by: {why}"),
            Self::TakenOver { why } => write!(f, "takes over: {why}"),
            Self::Active => f.write_str("no longer stands by"),
            Self::Alarm => f.write_str("its note was ahead of the store's clock and was reset"),
            Self::Busy => f.write_str("its lock is held by somebody else"),
            Self::Waiting { lock, held_by: Some(by) } => write!(f, "waits for {lock}, held by {by}"),
            Self::Waiting { lock, .. } => write!(f, "waits for {lock}"),
            Self::StoreDown { error } => write!(f, "the store cannot be used, retrying: {error}"),
            Self::StoreBack => f.write_str("the store answers again"),
            Self::Broken { error } => write!(f, "cannot run: {error}"),
            Self::Draining { rest } => {
                write!(f, "keeps its lock for another {rest:.1?} (at_least), then stops")
            }
            Self::Paused { yes: true, by, reason, until } => {
                let until = until.map(|end| format!(" until {}", short(end))).unwrap_or_default();
                let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                write!(f, "paused{until} by {by}{why}")
            }
            Self::Paused { yes: false, by, .. } if by.is_empty() => f.write_str("no longer paused"),
            Self::Paused { yes: false, by, .. } => write!(f, "resumed by {by}"),
            Self::RequestsUnreadable { error } => {
                write!(f, "requests of operators have no effect: {error}")
            }
        }
    }
}

/// A number that may be too small is not said as if it were a count.
fn count(n: u64, more: bool) -> String {
    if more { format!("{n} or more") } else { n.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slot_is_singular() {
        let cases = [
            (EventKind::Missed { n: 1, more: false }, "1 slot was missed"),
            (EventKind::Missed { n: 2, more: false }, "2 slots were missed"),
            (EventKind::Missed { n: 10_000, more: true }, "10000 or more slots were missed"),
            (EventKind::Skipped { n: 1, more: false }, "1 slot passed during the run and is skipped"),
            (
                EventKind::Skipped { n: 1, more: true },
                "1 or more slots passed during the run and are skipped",
            ),
            (EventKind::Merged { n: 1 }, "the backlog is too long: its oldest slot is dropped"),
        ];
        for (kind, text) in cases {
            assert_eq!(kind.to_string(), text);
        }
    }
}

/// A slot, with milliseconds unless it is a whole second.
fn short(slot: UnixTime) -> String {
    if slot.subsec_nanos() == 0 { slot.to_string() } else { format!("{slot:.3}") }
}

/// The callbacks that receive events.
#[derive(Clone, Default)]
pub(crate) struct Observers(Vec<Observer>);

type Observer = Arc<dyn Fn(&Event) + Send + Sync>;

impl Observers {
    pub(crate) fn add(&mut self, observe: impl Fn(&Event) + Send + Sync + 'static) {
        self.0.push(Arc::new(observe));
    }

    pub(crate) fn emit(&self, job: Option<&Arc<str>>, kind: EventKind) {
        let event = Event { job: job.cloned(), kind };
        trace(&event);
        for observe in &self.0 {
            // A panicking observer must not stop jobs.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| observe(&event)));
        }
    }
}

fn trace(event: &Event) {
    let job = event.job.as_deref();
    match event.kind.is_warning() {
        true => tracing::warn!(job.name = job, "{event}"),
        false => tracing::info!(job.name = job, "{event}"),
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observers").field("number", &self.0.len()).finish()
    }
}

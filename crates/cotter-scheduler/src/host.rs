//! Schedulers that run.

use crate::UnixTime;
use crate::notes::hosts::Mark;
use std::time::Duration;

/// A scheduler of a group that runs, as it has said itself: see [`Jobs::hosts`](crate::Jobs::hosts).
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The name of its host; `None` if it has none.
    pub name: Option<String>,
    /// When it started, by the store's clock.
    pub since: UnixTime,
    /// When it last said that it runs, which it repeats every two minutes.
    pub seen: UnixTime,
    /// The version of cotter.
    pub version: String,
    /// The number of its workers.
    pub workers: usize,
    /// How many of them were busy then.
    pub busy: usize,
    /// Since when runs had been waiting for a worker then, all of which were busy; `None` if there were none, or not for five seconds.
    /// A change of this is said at once.
    pub no_worker_since: Option<UnixTime>,
    /// Its labels, in order.
    pub labels: Vec<String>,
    /// How far its clock was off that of the store then, in either direction; zero where the store has none.
    pub clock_offset: Duration,
}

impl Host {
    /// A scheduler that has not said for so long that it runs is no longer listed.
    pub const SILENCE: Duration = crate::notes::hosts::KEPT;
}

impl From<Mark> for Host {
    fn from(mark: Mark) -> Self {
        Self {
            name: (!mark.host.is_empty()).then_some(mark.host),
            since: mark.since,
            seen: mark.at,
            version: mark.version,
            workers: mark.workers,
            busy: mark.busy,
            no_worker_since: mark.crowded,
            labels: mark.labels,
            clock_offset: Duration::from_millis(mark.off),
        }
    }
}

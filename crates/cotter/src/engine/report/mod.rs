//! Events: for observers, and for `tracing`.
//!
//! Observers and subscribers are user code, which may block or panic. The engine must not run it, or a slow log would lose
//! locks. Each has a thread and a bounded queue.
//!
//! | file | concept |
//! |---|---|
//! | `queue` | the queue before the observers of a client |
//! | `observers` | the thread that calls them |
//! | `log` | the thread that emits `tracing` events |
//! | `lines` | what these look like |

mod lines;
mod log;
mod observers;
mod queue;

pub(crate) use log::restarted;
pub(crate) use observers::{Observer, Observers};

use crate::{Error, Event, EventKind, Name};
use std::sync::Arc;
use std::time::Duration;
use tracing::Level;
use tracing::level_filters::LevelFilter;

/// The `tracing` target of all events and spans of the engine.
pub(crate) const TARGET: &str = "cotter";

/// The operation of the engine that failed. It is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    Acquiring,
    Renewing,
    Releasing,
    /// An attempt to acquire whose answer did not come.
    Undoing,
}

impl Doing {
    fn words(self) -> &'static str {
        match self {
            Self::Acquiring => "acquiring",
            Self::Renewing => "renewing",
            Self::Releasing => "releasing",
            Self::Undoing => "undoing an unanswered attempt",
        }
    }
}

/// Tells of the events of one client.
#[derive(Debug)]
pub(crate) struct Reporter {
    /// The scheme of the store.
    system: &'static str,
    /// The server, if the store has one.
    server: Option<String>,
    observers: Option<Arc<Observers>>,
}

impl Reporter {
    pub(crate) fn new(
        system: &'static str,
        server: Option<String>,
        observers: Option<Arc<Observers>>,
    ) -> Arc<Self> {
        Arc::new(Self { system, server, observers })
    }

    /// Returns true if somebody may want the events that are logged at this level. Runs no code of a subscriber: that of a
    /// task is not known on the engine, where all are muted.
    pub(crate) fn wants(&self, level: Level) -> bool {
        self.observers.is_some() || level <= LevelFilter::current()
    }

    /// Tells observers and the log; never blocks.
    pub(crate) fn tell(self: &Arc<Self>, event: Event) {
        let Some(observers) = &self.observers else { return self.log(event) };
        if lines::level(&event.kind) <= LevelFilter::current() {
            self.log(event.clone());
        }
        observers.tell(event);
    }

    /// Tells only the log; never blocks.
    pub(crate) fn log(self: &Arc<Self>, event: Event) {
        if lines::level(&event.kind) <= LevelFilter::current() {
            log::queue(self, event);
        }
    }

    /// The first failure of an outage.
    pub(crate) fn outage(self: &Arc<Self>, doing: Doing, name: &Name, error: Error) {
        let kind = EventKind::Outage { doing: doing.words(), error };
        self.tell(Event { name: Some(name.clone()), mode: None, kind });
    }

    /// The end of an outage.
    pub(crate) fn recovered(self: &Arc<Self>, after: Duration, failures: u64) {
        self.tell(Event::of_store(EventKind::Recovered { after, failures }));
    }
}

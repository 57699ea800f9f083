//! Tracing events, emitted from another thread.
//!
//! A subscriber is user code and may block; the engine must not run it, or a slow log would lose locks.

use crate::sync::lock;
use crate::sys::Identity;
use crate::{LossCause, Name};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// An event to report.
pub(crate) enum Event {
    Lost {
        name: Name,
        token: u64,
        cause: LossCause,
    },
    /// The first failure of an outage.
    Fails {
        server: String,
        doing: Doing,
        name: Name,
        error: String,
    },
    /// The end of an outage.
    Answers {
        server: String,
        after: Duration,
        failures: u64,
    },
    Restarted,
}

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

/// The maximum number of queued events; more are dropped and counted.
const WAITING: usize = 1024;

static DROPPED: AtomicU64 = AtomicU64::new(0);

/// The sender to the reporting thread, and the process that it belongs to.
type Channel = (Identity, SyncSender<Event>);

/// Queues an event; never blocks.
pub(crate) fn report(event: Event) {
    static CHANNEL: Mutex<Option<Channel>> = Mutex::new(None);
    let mut channel = lock(&CHANNEL);
    // A fork has none of the threads of its parent.
    if channel.as_ref().is_none_or(|(process, _)| *process != Identity::own()) {
        *channel = start();
    }
    if channel.as_ref().is_none_or(|(_, sender)| sender.try_send(event).is_err()) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

fn start() -> Option<Channel> {
    let (sender, receiver) = sync_channel(WAITING);
    let thread = std::thread::Builder::new().name("cotter-events".into());
    thread.spawn(move || tell(&receiver)).ok().map(|_| (Identity::own(), sender))
}

fn tell(events: &Receiver<Event>) {
    for event in events {
        match DROPPED.swap(0, Ordering::Relaxed) {
            0 => {}
            dropped => tracing::warn!(dropped, "events were dropped because the subscriber is slow"),
        }
        emit(event);
    }
}

fn emit(event: Event) {
    match event {
        Event::Lost { name, token, cause } => {
            tracing::warn!(%name, token, %cause, "lock lost");
        }
        Event::Fails { server, doing, name, error } => {
            tracing::warn!(server, %name, error, "the store failed while {}; will retry", doing.words());
        }
        Event::Answers { server, after, failures } => {
            let after_ms = after.as_millis() as u64;
            tracing::warn!(server, after_ms, failures, "the store answers again");
        }
        Event::Restarted => tracing::error!("the renewal loop panicked and was restarted"),
    }
}

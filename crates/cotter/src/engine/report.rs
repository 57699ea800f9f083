//! Tracing events, told from another thread.
//!
//! A subscriber is user code and may block; the engine must not run it, or a slow log would lose locks.

use crate::{LossCause, Name};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// What the engine has to tell.
pub(crate) enum Event {
    Lost { name: Name, token: u64, cause: LossCause },
    RenewalFailed { name: Name, error: String, left: Option<Duration> },
    ReleaseFailed { name: Name, error: String },
    StoreTrouble { name: Name, error: String },
    Restarted,
}

/// Events that nobody has taken yet; more are dropped and counted.
const WAITING: usize = 1024;

static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Queues an event; never blocks.
pub(crate) fn report(event: Event) {
    static CHANNEL: OnceLock<Option<SyncSender<Event>>> = OnceLock::new();
    let Some(channel) = CHANNEL.get_or_init(start) else { return };
    if channel.try_send(event).is_err() {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

fn start() -> Option<SyncSender<Event>> {
    let (sender, receiver) = sync_channel(WAITING);
    let thread = std::thread::Builder::new().name("cotter-events".into());
    thread.spawn(move || tell(&receiver)).ok().map(|_| sender)
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
        Event::RenewalFailed { name, error, left } => {
            tracing::warn!(%name, error, left_ms = left.map(|d| d.as_millis() as u64), "renewal failed, will retry");
        }
        Event::ReleaseFailed { name, error } => {
            tracing::warn!(%name, error, "release failed, will retry");
        }
        Event::StoreTrouble { name, error } => tracing::warn!(%name, error, "acquisition failed, will retry"),
        Event::Restarted => tracing::error!("the renewal loop panicked and was started again"),
    }
}

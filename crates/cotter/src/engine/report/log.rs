//! The thread that emits `tracing` events, one for the whole process.

use super::{Reporter, TARGET, lines};
use crate::Event;
use crate::sync::lock;
use crate::sys::Identity;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

/// Something to log.
enum Entry {
    Told(Arc<Reporter>, Event),
    Restarted,
}

/// The maximum number of queued entries; more are dropped and counted.
const WAITING: usize = 1024;

static DROPPED: AtomicU64 = AtomicU64::new(0);

/// The sender to the logging thread, and the process that it belongs to.
type Channel = (Identity, SyncSender<Entry>);

/// Queues an event; never blocks.
pub(super) fn queue(by: &Arc<Reporter>, event: Event) {
    put(Entry::Told(by.clone(), event));
}

/// The renewal loop was restarted.
pub(crate) fn restarted() {
    put(Entry::Restarted);
}

fn put(entry: Entry) {
    static CHANNEL: Mutex<Option<Channel>> = Mutex::new(None);
    let mut channel = lock(&CHANNEL);
    // A fork has none of the threads of its parent.
    if channel.as_ref().is_none_or(|(process, _)| *process != Identity::own()) {
        *channel = start();
    }
    if channel.as_ref().is_none_or(|(_, sender)| sender.try_send(entry).is_err()) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

fn start() -> Option<Channel> {
    let (sender, receiver) = sync_channel(WAITING);
    let thread = std::thread::Builder::new().name("cotter-events".into());
    thread.spawn(move || log(&receiver)).ok().map(|_| (Identity::own(), sender))
}

fn log(entries: &Receiver<Entry>) {
    for entry in entries {
        match DROPPED.swap(0, Ordering::Relaxed) {
            0 => {}
            dropped => {
                tracing::warn!(target: TARGET, dropped, "events were dropped because the subscriber is slow");
            }
        }
        match entry {
            Entry::Told(by, event) => lines::emit(&by, event),
            Entry::Restarted => {
                tracing::error!(target: TARGET, "the renewal loop panicked and was restarted");
            }
        }
    }
}

//! The thread that calls the observers of a client.

use super::TARGET;
use super::queue::Queue;
use crate::sys::Identity;
use crate::{Error, ErrorKind, Event, EventKind, Result};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// An observer, which is user code.
#[derive(Clone)]
pub(crate) struct Observer(Arc<dyn Fn(&Event) + Send + Sync>);

impl Observer {
    pub(crate) fn new(observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observer))
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// The observers of a client. Dropping them ends their thread, once it has told them what is queued.
#[derive(Debug)]
pub(crate) struct Observers {
    queue: Arc<Queue>,
    process: Identity,
}

impl Observers {
    /// Starts the thread; without observers there is none.
    pub(crate) fn start(observers: Vec<Observer>) -> Result<Option<Arc<Self>>> {
        if observers.is_empty() {
            return Ok(None);
        }
        let queue = Arc::new(Queue::default());
        let theirs = queue.clone();
        let thread = std::thread::Builder::new().name("cotter-observers".into());
        thread.spawn(move || run(&theirs, observers)).map_err(|e| {
            let why = format!("the thread of the observers could not be started: {e}");
            Error::new(ErrorKind::Unavailable, why).with_source(e)
        })?;
        Ok(Some(Arc::new(Self { queue, process: Identity::own() })))
    }

    /// Queues an event; never blocks.
    pub(super) fn tell(&self, event: Event) {
        self.queue.put(event);
    }
}

impl Drop for Observers {
    fn drop(&mut self) {
        // A fork does not have the thread, which may have had the lock of the queue.
        if self.process == Identity::own() {
            self.queue.close();
        }
    }
}

fn run(queue: &Queue, observers: Vec<Observer>) {
    let observers: Vec<_> = observers.into_iter().map(|o| (o, AtomicBool::new(false))).collect();
    let mut batch = Vec::new();
    while let Some(dropped) = queue.take(&mut batch) {
        if dropped > 0 {
            tracing::warn!(target: TARGET, dropped, "events were dropped because an observer is slow");
        }
        let dropped = (dropped > 0).then(|| Event::of_store(EventKind::Dropped { events: dropped }));
        for event in batch.drain(..).chain(dropped) {
            for (observer, has_panicked) in &observers {
                call(observer, has_panicked, &event);
            }
        }
        queue.pause();
    }
}

/// A panic of an observer ends neither the thread nor the others.
fn call(observer: &Observer, has_panicked: &AtomicBool, event: &Event) {
    let called = catch_unwind(AssertUnwindSafe(|| (observer.0)(event)));
    if called.is_err() && !has_panicked.swap(true, Ordering::Relaxed) {
        let kind = event.kind.as_str();
        tracing::error!(target: TARGET, kind, "an observer of lock events panicked; it is told of the next ones all the same");
    }
}

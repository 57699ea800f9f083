//! The listeners of a subscription, and how long it has had none; on which channels messages arrive.

use crate::sync::lock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A subscription is closed when nobody has listened for this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The number of tasks that listen to a subscription.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    now: AtomicU64,
    ever: AtomicU64,
}

impl Listeners {
    /// Counts a listener until the returned value is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> Listener {
        self.now.fetch_add(1, Ordering::AcqRel);
        self.ever.fetch_add(1, Ordering::AcqRel);
        Listener(self.clone())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.now.load(Ordering::Acquire) == 0
    }

    /// Begins to watch for a time in which nobody listens.
    pub(crate) fn idle_time(&self) -> IdleTime {
        IdleTime { seen: self.ever.load(Ordering::Acquire), length: Duration::ZERO }
    }
}

/// A listener that is counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Listener(Arc<Listeners>);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The channels on which messages arrive, of all connections of a store. A claim may ask on one connection, and be woken on another.
#[derive(Debug, Default)]
pub(crate) struct OpenChannels(Mutex<Vec<Arc<str>>>);

impl OpenChannels {
    /// Records whether messages arrive on a channel.
    pub(crate) fn set(&self, channel: &Arc<str>, open: bool) {
        let mut channels = lock(&self.0);
        channels.retain(|c| c != channel);
        if open {
            channels.push(channel.clone());
        }
    }

    /// One of them.
    pub(crate) fn any(&self) -> Option<Arc<str>> {
        lock(&self.0).last().cloned()
    }
}

/// The time in which nobody has listened, in periods.
#[derive(Debug)]
pub(crate) struct IdleTime {
    /// A listener that came and went within a period counts as well.
    seen: u64,
    length: Duration,
}

impl IdleTime {
    /// Adds the period that has just ended. Returns true if the subscription is not needed any more.
    pub(crate) fn is_over(&mut self, listeners: &Listeners, period: Duration) -> bool {
        let ever = listeners.ever.load(Ordering::Acquire);
        let idle = listeners.is_empty() && ever == self.seen;
        self.seen = ever;
        self.length = if idle { self.length + period } else { Duration::ZERO };
        self.length >= IDLE_TIMEOUT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_without_listeners_is_enough() {
        let (listeners, period) = (Arc::new(Listeners::default()), Duration::from_secs(20));
        let mut idle = listeners.idle_time();
        let listener = listeners.enter();
        let mut next = || idle.is_over(&listeners, period);
        assert!((0..10).all(|_| !next()), "somebody listens");
        drop(listener);
        assert_eq!([next(), next(), next()], [false, false, true]);
        drop(listeners.enter());
        assert_eq!([next(), next(), next(), next()], [false, false, false, true], "that one counts");
    }
}

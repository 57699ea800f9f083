//! The notes that are watched for changes, each with a channel of its own beside the wake-up channel.
//!
//! The scripts that write a note publish its new revision on the channel of the same name as its key. A message only says
//! that there is something to load: the note itself, loaded after the subscription was confirmed, is the truth.

use crate::sync::lock;
use redis::RedisError;
use redis::aio::PubSubSink;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// The notes that are watched on one subscription.
#[derive(Debug, Default)]
pub(super) struct WatchedNotes {
    channels: Mutex<BTreeMap<Arc<str>, Channel>>,
    /// Somebody watches a note that nobody watched.
    added: Notify,
}

#[derive(Debug, Default)]
struct Channel {
    state: State,
    /// Notified when the note may have changed.
    changed: Arc<Notify>,
    watchers: usize,
    /// Whether somebody has watched since the last sweep.
    recent: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Unsubscribed,
    Subscribed,
    /// The server refuses this channel; it is not asked again on the same connection.
    Refused,
}

/// A channel that nobody has watched for this long is left. Whoever watches in a loop keeps it.
const SWEEP_PERIOD: Duration = Duration::from_secs(5);

impl WatchedNotes {
    /// Watches the note with this key until the returned value is dropped.
    pub(super) fn watch(self: &Arc<Self>, key: &str) -> WatchedNote {
        let mut channels = lock(&self.channels);
        let name = channels.get_key_value(key).map_or_else(|| Arc::from(key), |(name, _)| name.clone());
        let channel = channels.entry(name.clone()).or_default();
        channel.watchers += 1;
        channel.recent = true;
        let changed = channel.changed.clone();
        if channel.state == State::Unsubscribed {
            self.added.notify_one();
        }
        WatchedNote { notes: self.clone(), name, changed }
    }

    /// Passes on a message.
    pub(super) fn changed(&self, channel: &str) {
        if let Some(channel) = lock(&self.channels).get(channel) {
            channel.changed.notify_waiters();
        }
    }

    /// The connection is gone, and messages with it: every watcher loads its note again.
    pub(super) fn disconnected(&self) {
        lock(&self.channels).retain(|_, channel| {
            channel.state = State::Unsubscribed;
            channel.changed.notify_waiters();
            channel.watchers > 0
        });
    }

    /// Subscribes to what is watched, and leaves what is not watched any more. Returns when the connection is lost.
    pub(super) async fn follow(&self, mut sink: PubSubSink, limit: Duration) {
        let mut sweep = tokio::time::interval(SWEEP_PERIOD);
        loop {
            for name in self.in_state(State::Unsubscribed) {
                match timeout(limit, sink.subscribe(&*name)).await {
                    Ok(Ok(())) => self.set(&name, State::Subscribed),
                    Ok(Err(e)) if !is_lost(&e) => self.set(&name, State::Refused),
                    _ => return,
                }
            }
            tokio::select! {
                () = self.added.notified() => {}
                _ = sweep.tick() => for name in self.sweep() {
                    // Left one by one: a new watcher in between finds the channel unsubscribed and adds it again.
                    if !matches!(timeout(limit, sink.unsubscribe(&*name)).await, Ok(Ok(()))) {
                        return;
                    }
                },
            }
        }
    }

    fn in_state(&self, state: State) -> Vec<Arc<str>> {
        let channels = lock(&self.channels);
        channels.iter().filter(|(_, c)| c.state == state).map(|(name, _)| name.clone()).collect()
    }

    /// The server has answered. A change before that brought no message, so the watchers load the note again.
    fn set(&self, name: &str, state: State) {
        if let Some(channel) = lock(&self.channels).get_mut(name) {
            channel.state = state;
            channel.changed.notify_waiters();
        }
    }

    /// Removes the channels that nobody has watched since the last sweep, and returns those that are subscribed.
    fn sweep(&self) -> Vec<Arc<str>> {
        let mut left = Vec::new();
        lock(&self.channels).retain(|name, channel| {
            let keep = channel.watchers > 0 || channel.recent;
            channel.recent = false;
            if !keep && channel.state == State::Subscribed {
                left.push(name.clone());
            }
            keep
        });
        left
    }
}

fn is_lost(e: &RedisError) -> bool {
    e.is_io_error() || e.is_connection_dropped()
}

/// A note that is watched until this is dropped.
#[derive(Debug)]
pub(super) struct WatchedNote {
    notes: Arc<WatchedNotes>,
    name: Arc<str>,
    /// Notified when the note may have changed.
    pub(super) changed: Arc<Notify>,
}

impl WatchedNote {
    /// Whether a change would bring a message.
    pub(super) fn is_subscribed(&self) -> bool {
        lock(&self.notes.channels).get(&self.name).is_some_and(|c| c.state == State::Subscribed)
    }
}

impl Drop for WatchedNote {
    fn drop(&mut self) {
        if let Some(channel) = lock(&self.notes.channels).get_mut(&self.name) {
            channel.watchers -= 1;
        }
    }
}

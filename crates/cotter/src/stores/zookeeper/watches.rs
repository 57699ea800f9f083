//! Tasks that wait for a change of a node.

use crate::sync::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// The listeners for changes, by the path of the node. A watch fires once: to be notified again, a listener reads the node again
/// with a watch.
#[derive(Debug, Default)]
pub(super) struct Watches(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: u64,
    /// In order, so that a simulation repeats.
    open: BTreeMap<String, Vec<(u64, Arc<Notify>)>>,
}

/// A node whose changes are reported until this is dropped.
#[derive(Debug)]
pub(super) struct Watched {
    watches: Arc<Watches>,
    path: String,
    id: u64,
}

impl Watches {
    /// Notifies `waiter` of each event of the node, and of each interruption in which one may have been missed. The request
    /// that makes the server watch is sent after this.
    pub(super) fn wait_for(self: &Arc<Self>, path: &str, waiter: &Arc<Notify>) -> Watched {
        let mut state = lock(&self.0);
        state.last += 1;
        let id = state.last;
        state.open.entry(path.to_owned()).or_default().push((id, waiter.clone()));
        Watched { watches: self.clone(), path: path.to_owned(), id }
    }

    pub(super) fn on_event(&self, path: &str) {
        if let Some(waiters) = lock(&self.0).open.get(path) {
            waiters.iter().for_each(|(_, waiter)| waiter.notify_one());
        }
    }

    /// The server does not watch any more: everything may have happened.
    pub(super) fn interrupted(&self) {
        lock(&self.0).open.values().flatten().for_each(|(_, waiter)| waiter.notify_one());
    }
}

impl Watched {
    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut state = lock(&self.watches.0);
        if let Some(waiters) = state.open.get_mut(&self.path) {
            waiters.retain(|(id, _)| *id != self.id);
            if waiters.is_empty() {
                state.open.remove(&self.path);
            }
        }
    }
}

//! Waiting until an engine has nothing left to do at this time.

use std::sync::{Condvar, Mutex, OnceLock, Weak};
use tokio::runtime::Handle;

/// A handle with which a clock waits until an engine has nothing left to do.
#[derive(Debug, Clone)]
pub struct Idle(pub(crate) Weak<IdleState>);

impl Idle {
    /// Blocks until the engine has done everything that is due. Returns at once if the engine has ended.
    pub fn wait(&self) {
        if let Some(state) = self.0.upgrade() {
            state.wait();
        }
    }
}

/// The record of whether an engine's thread is parked.
#[derive(Debug, Default)]
pub(crate) struct IdleState {
    parks: Mutex<(bool, u64)>,
    changed: Condvar,
    pub(crate) handle: OnceLock<Handle>,
}

impl IdleState {
    pub(crate) fn set(&self, parked: bool) {
        let mut parks = crate::sync::lock(&self.parks);
        *parks = (parked, parks.1 + u64::from(parked));
        self.changed.notify_all();
    }

    /// How often the thread has said that it parks.
    #[cfg(test)]
    pub(crate) fn parks(&self) -> u64 {
        crate::sync::lock(&self.parks).1
    }

    /// Blocks until the thread has parked again after a task that was spawned now.
    pub(crate) fn wait(&self) {
        let Some(handle) = self.handle.get() else { return };
        let (seen, told) = std::sync::mpsc::channel();
        let probe = handle.spawn(async move {
            let _ = seen.send(());
        });
        if told.recv().is_err() {
            return;
        }
        drop(probe);
        let parks = crate::sync::lock(&self.parks);
        let _unused = self.changed.wait_while(parks, |(parked, _)| !*parked);
    }
}

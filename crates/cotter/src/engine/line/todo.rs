//! What has to follow a change of a line, once its lock is let go.

use std::task::Waker;

/// What has to follow a change of a line. [`run`](super::run) carries it out.
#[derive(Debug, Default)]
#[must_use = "somebody would wait for ever"]
pub(crate) struct Todo {
    /// Tasks whose wait for this name is over, or who may try again.
    pub(super) wake: Vec<Waker>,
    /// The task that asks the store has to look at the queue again.
    pub(super) tell: bool,
    /// Somebody must look whether the lock, or a request for it, is with a task that sleeps.
    pub(super) watch: bool,
    /// Somebody must ask the store on behalf of those that wait.
    pub(super) ask: bool,
    /// The line is not used any more.
    pub(super) retire: bool,
}

impl Todo {
    pub(crate) const NOTHING: Self =
        Self { wake: Vec::new(), tell: false, watch: false, ask: false, retire: false };

    /// Also wakes these, which wait for something else that has changed with the line.
    pub(crate) fn and_wake(mut self, others: Vec<Waker>) -> Self {
        self.wake.extend(others);
        self
    }
}

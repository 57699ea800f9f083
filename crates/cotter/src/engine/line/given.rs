//! What was given to tasks that may sleep, a grant to take or a release to wait for, and whether that is watched.

use crate::engine::line::waiter::Waiter;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Given<G> {
    /// The waiter that was last given the lock.
    to: Option<Arc<Waiter<G>>>,
    /// The total number of releases sent: tells one slow release from several consecutive ones.
    released: u32,
    /// The number of hand-overs, as far as it fits here: two looks have to tell whether there was one between them.
    count: u16,
    watched: bool,
}

impl<G> Given<G> {
    /// Records a hand-over. Returns true when a watch must be started.
    pub(super) fn note(&mut self, to: &Arc<Waiter<G>>, others_wait: bool) -> bool {
        self.to = Some(to.clone());
        self.count = self.count.wrapping_add(1);
        others_wait && self.start()
    }

    /// Records a release.
    pub(super) fn note_release(&mut self) {
        self.released = self.released.wrapping_add(1);
    }

    /// Records a task that waits behind one that has not taken its guard, or whose request is in flight. Returns true
    /// when that must be watched from now on.
    pub(super) fn newcomer(&mut self, behind_a_request: bool) -> bool {
        (behind_a_request || self.to.as_ref().is_some_and(|waiter| waiter.is_given())) && self.start()
    }

    /// Returns true when a watch must be started.
    pub(super) fn start(&mut self) -> bool {
        !std::mem::replace(&mut self.watched, true)
    }

    /// The watch ends.
    pub(super) fn end(&mut self) {
        self.watched = false;
    }

    pub(super) fn count(&self) -> u16 {
        self.count
    }

    pub(super) fn released(&self) -> u32 {
        self.released
    }

    /// Takes the guard of the last hand-over back, if its task has not taken it.
    pub(super) fn recall(&self) -> Option<(Arc<Waiter<G>>, Box<G>)> {
        let waiter = self.to.as_ref()?;
        waiter.recall().map(|guard| (waiter.clone(), guard))
    }
}

impl<G> Default for Given<G> {
    fn default() -> Self {
        Self { to: None, released: 0, count: 0, watched: false }
    }
}

//! The waiters of a line, in their order.

use crate::engine::line::waiter::Waiter;
use std::collections::VecDeque;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Queue<G> {
    waiters: VecDeque<Arc<Waiter<G>>>,
    /// An upper bound on the number of waiters in the queue that have left.
    left: u32,
}

impl<G> Queue<G> {
    /// Returns the first waiter for which the store is asked. Sleeping waiters are not: they would not take the lock, and
    /// several of them would pass it round for ever.
    pub(super) fn awake(&self) -> Option<&Arc<Waiter<G>>> {
        self.waiters.iter().find(|w| w.is_awake() && w.is_open())
    }

    /// Returns the first waiter, ignoring those that have left; sleeping waiters come after all others.
    pub(super) fn head(&mut self) -> Option<&Arc<Waiter<G>>> {
        self.skip_those_that_left();
        self.awake().or(self.waiters.front())
    }

    /// Otherwise each look at the queue would pass over them again.
    pub(super) fn skip_those_that_left(&mut self) {
        while self.waiters.front().is_some_and(|w| !w.is_open()) {
            self.waiters.pop_front();
        }
    }

    pub(super) fn push(&mut self, waiter: Arc<Waiter<G>>) {
        self.waiters.push_back(waiter);
    }

    /// Gives a waiter the first place: its task has waited for longer than the others.
    pub(super) fn push_first(&mut self, waiter: Arc<Waiter<G>>) {
        self.waiters.push_front(waiter);
    }

    pub(super) fn remove(&mut self, waiter: &Arc<Waiter<G>>) {
        match self.waiters.iter().position(|w| Arc::ptr_eq(w, waiter)) {
            Some(0) => drop(self.waiters.pop_front()),
            Some(at) => drop(self.waiters.remove(at)),
            None => {}
        }
    }

    /// Notes that a waiter has left. Its entry stays until half of all have left: removing each one separately would
    /// cost a scan of the queue every time.
    pub(super) fn one_left(&mut self) {
        self.left += 1;
        if self.left as usize * 2 >= self.waiters.len() {
            self.left = 0;
            self.waiters.retain(|w| w.is_open());
        }
    }

    pub(super) fn retain(&mut self, stays: impl FnMut(&Arc<Waiter<G>>) -> bool) {
        self.waiters.retain(stays);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Waiter<G>>> {
        self.waiters.iter()
    }

    /// Returns true if nobody waits, although there may be entries of waiters that have left.
    pub(super) fn all_left(&self) -> bool {
        self.waiters.iter().all(|w| !w.is_open())
    }

    pub(super) fn len(&self) -> usize {
        self.waiters.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }
}

impl<G> Default for Queue<G> {
    fn default() -> Self {
        Self { waiters: VecDeque::new(), left: 0 }
    }
}

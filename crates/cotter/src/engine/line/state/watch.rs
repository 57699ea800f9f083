//! Looking for what is with a task that sleeps: a grant that it does not take, an attempt or a release that it does not poll.

use super::{Holding, State};
use crate::engine::line::todo::Todo;
use std::sync::Arc;

/// The findings of the last look.
pub(crate) struct Seen<A> {
    count: u16,
    first_try: Option<Arc<A>>,
    /// The number of releases that had been sent, if the last one was unanswered.
    released: Option<u32>,
}

impl<A> Default for Seen<A> {
    fn default() -> Self {
        Self { count: 0, first_try: None, released: None }
    }
}

pub(crate) enum Look<H: Holding> {
    /// Nothing was handed over since the last look, every guard was taken, and no request is pending: the watch ends.
    Quiet,
    Moving,
    /// A guard that its task has not taken. To be dropped, which passes it on.
    Untaken(Box<H::Guard>),
    /// The attempt of the last look is still in flight.
    Unasked(Arc<H::Attempt>),
}

impl<H: Holding> State<H> {
    pub(crate) fn look(&mut self, seen: &mut Seen<H::Attempt>) -> (Look<H>, Todo) {
        let others_wait = self.awake().is_some();
        let first_try = self.first_try.clone().filter(|_| others_wait);
        let before = std::mem::replace(&mut seen.first_try, first_try.clone());
        if let Some(attempt) = first_try {
            let same = before.is_some_and(|b| Arc::ptr_eq(&b, &attempt));
            return (if same { Look::Unasked(attempt) } else { Look::Moving }, Todo::NOTHING);
        }
        if others_wait && self.releasing > 0 && self.is_open() {
            // The release of the last look is still unanswered: the next request does not wait for it any longer.
            let released = self.given.released();
            let same = seen.released.replace(released) == Some(released);
            return (Look::Moving, Todo { ask: same && self.ask(), ..Todo::NOTHING });
        }
        if self.given.count() != seen.count {
            seen.count = self.given.count();
            return (Look::Moving, Todo::NOTHING);
        }
        (self.recall().map_or(Look::Quiet, Look::Untaken), Todo::NOTHING)
    }

    /// Takes back the guard of the last hand-over, if its task has not taken it; otherwise the watch ends.
    fn recall(&mut self) -> Option<Box<H::Guard>> {
        // If all others sleep as well, those of other processes have their turn.
        let is_alone = self.queue.head().is_none();
        match if is_alone { None } else { self.given.recall() } {
            Some((waiter, guard)) => {
                self.queue.push_first(waiter);
                Some(guard)
            }
            None => {
                self.given.end();
                None
            }
        }
    }
}

//! The engine asks the store on behalf of those that wait.

use super::{Holding, Phase, State};
use crate::backend::Claim;
use crate::engine::line::todo::Todo;
use crate::engine::line::waiter::Waiter;
use crate::{Error, Mode, Moment};
use std::sync::Arc;

/// What is to be asked next.
pub(crate) struct Next<G> {
    /// The waiter that it is asked for; `None` when nobody asks any more.
    pub(crate) head: Option<Arc<Waiter<G>>>,
    /// Others wait behind it.
    pub(crate) others_wait: bool,
    /// A claim that is in the store's queue already: used, or undone.
    pub(crate) joined: Option<Box<Claim>>,
}

impl<H: Holding> State<H> {
    /// Returns what to ask next. Where no task waits, nothing asks from now on; nor where the client is `closed`.
    pub(crate) fn next_round(&mut self, closed: Option<&Error>) -> (Next<H::Guard>, Todo) {
        let mut todo = closed.map_or(Todo::NOTHING, |why| self.fail(why, |_| true));
        let head = self.awake().cloned();
        if head.is_none() {
            self.phase = Phase::Idle;
            todo.wake.append(&mut self.quiet_wakers);
            todo.retire = self.is_unused();
        }
        (Next { head, others_wait: self.queue.len() > 1, joined: self.joined.take() }, todo)
    }

    /// Returns true if the claim of this waiter, which is in flight, still serves the first one.
    pub(crate) fn still_wants(&self, waiter: &Waiter<H::Guard>) -> bool {
        self.awake().is_some_and(|head| head.shares_with(waiter))
    }

    /// Returns the first waiter, if a grant that was asked for on behalf of this one serves it.
    pub(crate) fn head_like(&mut self, asked_for: &Waiter<H::Guard>) -> Option<Arc<Waiter<H::Guard>>> {
        self.queue.head().filter(|head| head.shares_with(asked_for)).cloned()
    }

    /// The engine was granted the lock, which goes to this waiter. Returns true if the engine asks on, for the waiter behind it:
    /// the grant is shared.
    pub(crate) fn served(&mut self, waiter: &Arc<Waiter<H::Guard>>, hold: &Arc<H>) -> (bool, Todo) {
        let watch = self.pop(waiter);
        let wake = self.hold_from_now_on(hold);
        let asks_on = self.ask();
        (asks_on, Todo { wake, watch, ..Todo::NOTHING })
    }

    /// Whatever kept the store from answering is over.
    pub(crate) fn recovered(&mut self) -> Todo {
        self.trouble = None;
        Todo::NOTHING
    }

    /// Notes an error, and fails those whom it gives no hope: all, or only those of this mode; after `too_long` a time of errors
    /// also those whose wait has no end.
    pub(crate) fn in_trouble(&mut self, error: &Error, only: Option<Mode>, too_long: bool) -> Todo {
        self.trouble = only.is_none().then(|| error.clone());
        let hopeless = !error.is_retryable();
        self.fail(error, |w| {
            let concerned = only.is_none_or(|mode| w.mode() == mode);
            (hopeless && concerned) || (too_long && w.last == Moment::NEVER)
        })
    }

    /// Fails waiters.
    fn fail(&mut self, error: &Error, fails: impl Fn(&Waiter<H::Guard>) -> bool) -> Todo {
        let mut wake = Vec::new();
        self.queue.retain(|waiter| {
            let fails = fails(waiter);
            if fails {
                wake.extend(waiter.fail(error.clone()));
            }
            !fails
        });
        Todo { wake, ..Todo::NOTHING }
    }
}

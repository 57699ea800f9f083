//! A grant, its hand-over, its release and its loss.

use super::{Holding, Phase, State};
use crate::engine::line::request::Request;
use crate::engine::line::todo::Todo;
use crate::engine::line::waiter::Waiter;
use std::sync::Arc;
use std::task::Waker;

/// A waiter, and the turn of a hold that it is given.
type Pass<G, T> = (Arc<Waiter<G>>, T);

impl<H: Holding> State<H> {
    /// A task was granted the lock at its first attempt.
    pub(crate) fn granted(&mut self, hold: &Arc<H>) -> Todo {
        let wake = self.hold_from_now_on(hold);
        Todo { wake, ask: self.ask(), ..Todo::NOTHING }
    }

    /// A task has taken over a hold that another process had. Whoever waits here has asked the store already, or is about to.
    pub(crate) fn resumed(&mut self, hold: &Arc<H>) -> Todo {
        self.beside.push(hold.clone());
        Todo::NOTHING
    }

    /// The lock passes to the first waiter, if there is a `turn` for its request.
    pub(crate) fn pass<T>(
        &mut self,
        turn: impl FnOnce(&Request) -> Option<T>,
    ) -> Option<(Pass<H::Guard, T>, Todo)> {
        self.queue.skip_those_that_left();
        let waiter = self.awake()?.clone();
        let turn = turn(&waiter.request)?;
        let watch = self.pop(&waiter);
        Some(((waiter, turn), Todo { watch, ..Todo::NOTHING }))
    }

    /// The release of a hold is about to be sent. Its task may never look at the answer.
    pub(crate) fn releasing(&mut self, hold: &Arc<H>) -> Todo {
        self.release(hold);
        let watch = self.awake().is_some() && self.given.start();
        Todo { watch, ..Todo::NOTHING }
    }

    /// A release was answered. Only now may the next request of this process be sent: over another connection, it would overtake
    /// the release, and find the lock taken.
    pub(crate) fn answered(&mut self) -> Todo {
        self.releasing -= 1;
        self.next()
    }

    /// A hold was lost. Its owner may not take the lock again while guards of it live that know nothing of it (`bars`).
    /// Either what the store still keeps is `freed` now, or others may ask at once.
    pub(crate) fn lost(&mut self, hold: &Arc<H>, freed: bool, bars: bool) -> Todo {
        if bars {
            self.lost_holds.push(hold.clone());
        }
        if freed {
            self.release(hold);
            return Todo::NOTHING;
        }
        self.forget(hold);
        Todo { ask: self.ask(), ..Todo::NOTHING }
    }

    /// The last guard of a lost hold was given back. What the store has kept until now is `freed`, if it was not before.
    pub(crate) fn lost_and_left(&mut self, hold: &Arc<H>, freed: bool) -> Todo {
        self.lost_holds.retain(|h| !Arc::ptr_eq(h, hold));
        if freed {
            self.release(hold);
        }
        Todo { retire: self.is_unused(), ..Todo::NOTHING }
    }

    /// Enters a hold; nobody asks for its task any more. Returns the tasks that may try again.
    pub(super) fn hold_from_now_on(&mut self, hold: &Arc<H>) -> Vec<Waker> {
        (self.phase, self.first_try, self.trouble) = (Phase::Idle, None, None);
        if hold.mode().is_exclusive() {
            self.holder = Some(hold.clone());
        } else if hold.has_owner() {
            self.beside.push(hold.clone());
        }
        self.wake_quiet()
    }

    /// Takes this waiter out of the queue to give it the lock. Returns true when the hand-over must be watched from
    /// now on.
    pub(super) fn pop(&mut self, waiter: &Arc<Waiter<H::Guard>>) -> bool {
        self.queue.remove(waiter);
        let others_wait = !self.queue.is_empty();
        self.given.note(waiter, others_wait)
    }

    fn forget(&mut self, hold: &Arc<H>) {
        self.holder.take_if(|h| Arc::ptr_eq(h, hold));
        self.beside.retain(|h| !Arc::ptr_eq(h, hold));
    }

    /// Removes a hold whose release is in flight.
    fn release(&mut self, hold: &Arc<H>) {
        self.forget(hold);
        self.releasing += 1;
        self.given.note_release();
    }
}

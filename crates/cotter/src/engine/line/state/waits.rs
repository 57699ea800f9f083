//! Waiters that wake up and leave, new limits, and tasks that wait until nothing is in flight.

use super::{Holding, Phase, State};
use crate::engine::line::todo::Todo;
use std::task::Waker;

impl<H: Holding> State<H> {
    /// A waiter is polled again. Nobody has asked the store for it while it slept; a release that is in flight is followed by the
    /// next request.
    pub(crate) fn woke_up(&mut self) -> Todo {
        let watch = self.one_waits();
        Todo { watch, ask: self.releasing == 0 && self.ask(), ..Todo::NOTHING }
    }

    /// A waiter has left the queue.
    pub(crate) fn left(&mut self) -> Todo {
        self.queue.one_left();
        Todo { tell: true, retire: self.is_unused(), ..Todo::NOTHING }
    }

    /// One more waits. Returns true when what it waits for must be watched from now on.
    pub(super) fn one_waits(&mut self) -> bool {
        let behind_a_request = self.first_try.is_some() || self.releasing > 0;
        self.given.newcomer(behind_a_request)
    }

    /// The limit of the semaphore is about to be changed: until it is, nobody here is told that the store refuses the old one.
    pub(crate) fn resizing(&mut self) -> Todo {
        self.resizing = self.resizing.wrapping_add(1);
        Todo::NOTHING
    }

    /// Those that wait go on under the new limit.
    pub(crate) fn resize(&mut self, from: u32, to: u32) -> Todo {
        self.queue.iter().for_each(|waiter| waiter.resize(from, to));
        Todo::NOTHING
    }

    /// The change of the limit is over, whether it was made or not.
    pub(crate) fn resized(&mut self) -> Todo {
        self.resizing = self.resizing.wrapping_sub(1);
        Todo { tell: true, ..Todo::NOTHING }
    }

    pub(crate) fn is_resizing(&self) -> bool {
        self.resizing > 0
    }

    /// A task waits for a change of what is in flight: a first attempt, or releases. Returns false if nothing is.
    pub(crate) fn until_quiet(&mut self, waker: &Waker) -> (bool, Todo) {
        let waits = self.releasing > 0 || self.phase == Phase::Trying;
        if waits {
            self.quiet_wakers.push(waker.clone());
        }
        (waits, Todo::NOTHING)
    }
}

//! A task that waits in the line of a name.

use crate::engine::line::request::Request;
use crate::sync::lock;
use crate::{Error, Mode, Moment};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// A task that waits, and its answer: a guard, when all is well.
#[derive(Debug)]
pub(crate) struct Waiter<G> {
    pub(crate) request: Request,
    /// The end of its wait.
    pub(crate) last: Moment,
    answer: Mutex<Answer<G>>,
    /// It was given the lock and did not take it: others go first until it is polled again.
    asleep: AtomicBool,
    /// The limit of the semaphore, once it was changed while this waited; zero before.
    limit: AtomicU32,
}

#[derive(Debug)]
enum Answer<G> {
    Open(Option<Waker>),
    Given(Box<G>),
    Failed(Error),
    Left,
}

/// The state that a waiter leaves behind.
pub(crate) enum Left<G> {
    /// A guard that had arrived in the meantime.
    With(G),
    /// A place in the queue.
    Queue,
    Nothing,
}

impl<G> Waiter<G> {
    pub(crate) fn new(request: Request, last: Moment) -> Arc<Self> {
        Arc::new(Self {
            request,
            last,
            answer: Mutex::new(Answer::Open(None)),
            asleep: AtomicBool::new(false),
            limit: AtomicU32::new(0),
        })
    }

    /// Returns the mode that it waits for, under the limit that is valid now.
    pub(crate) fn mode(&self) -> Mode {
        match (self.request.mode, self.limit.load(Ordering::Relaxed)) {
            (Mode::Permits { take, .. }, of @ 1..) => Mode::Permits { take, of },
            (mode, _) => mode,
        }
    }

    /// Goes on under the new limit of a semaphore. One that wants more than that keeps the old one, with which the store
    /// refuses it.
    pub(crate) fn resize(&self, from: u32, to: u32) {
        if matches!(self.mode(), Mode::Permits { take, of } if of == from && take <= to) {
            self.limit.store(to, Ordering::Relaxed);
        }
    }

    /// Returns true if one claim can serve both.
    pub(crate) fn shares_with(&self, other: &Self) -> bool {
        let (one, two) = (&self.request, &other.request);
        self.mode() == other.mode() && one.lease == two.lease && one.alone == two.alone
    }

    /// Hands over a guard; returns it if the waiter has left.
    pub(crate) fn give(&self, guard: Box<G>) -> Result<(), Box<G>> {
        let mut answer = self.lock();
        let Answer::Open(waker) = &mut *answer else { return Err(guard) };
        let waker = waker.take();
        *answer = Answer::Given(guard);
        drop(answer);
        waker.into_iter().for_each(Waker::wake);
        Ok(())
    }

    /// Ends the wait with an error. Returns the task to wake.
    pub(super) fn fail(&self, error: Error) -> Option<Waker> {
        let mut answer = self.lock();
        let Answer::Open(waker) = &mut *answer else { return None };
        let waker = waker.take();
        *answer = Answer::Failed(error);
        waker
    }

    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<Result<G, Error>> {
        let mut answer = self.lock();
        self.asleep.store(false, Ordering::Relaxed);
        if let Answer::Open(waker) = &mut *answer {
            match waker {
                Some(w) => w.clone_from(cx.waker()),
                None => *waker = Some(cx.waker().clone()),
            }
            return Poll::Pending;
        }
        match std::mem::replace(&mut *answer, Answer::Left) {
            Answer::Given(guard) => Poll::Ready(Ok(*guard)),
            Answer::Failed(error) => Poll::Ready(Err(error)),
            Answer::Open(_) | Answer::Left => unreachable!("polled after it was done"),
        }
    }

    /// Leaves the queue, whether or not a guard has arrived.
    pub(crate) fn leave(&self) -> Left<G> {
        match std::mem::replace(&mut *self.lock(), Answer::Left) {
            Answer::Given(guard) => Left::With(*guard),
            Answer::Open(_) => Left::Queue,
            Answer::Failed(_) | Answer::Left => Left::Nothing,
        }
    }

    /// Takes back a guard that was given and not taken.
    pub(super) fn recall(&self) -> Option<Box<G>> {
        let mut answer = self.lock();
        match std::mem::replace(&mut *answer, Answer::Open(None)) {
            Answer::Given(guard) => {
                self.fall_asleep();
                Some(guard)
            }
            other => {
                *answer = other;
                None
            }
        }
    }

    pub(crate) fn is_given(&self) -> bool {
        matches!(&*self.lock(), Answer::Given(_))
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(&*self.lock(), Answer::Open(_))
    }

    /// Lets others go first until this waiter is polled again.
    pub(crate) fn fall_asleep(&self) {
        self.asleep.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_awake(&self) -> bool {
        !self.asleep.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Answer<G>> {
        lock(&self.answer)
    }
}

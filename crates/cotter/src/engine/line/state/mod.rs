//! The state of a line, and every change of it.
//!
//! | file | concept |
//! |---|---|
//! | `attempts` | a request arrives; the first attempt of a task |
//! | `rounds` | the engine asks the store on behalf of those that wait |
//! | `holds` | a grant, its hand-over, its release and its loss |
//! | `waits` | waiters that wake up and leave, new limits, tasks that wait until nothing is in flight |
//! | `watch` | looking for what is with a task that sleeps |
//!
//! A change returns what has to follow it, as a [`Todo`]: no state in between leaves anybody without it. Nothing here
//! waits, sends or wakes, so the tests go through random changes without a runtime and without a store.

mod attempts;
mod holds;
mod rounds;
mod waits;
mod watch;

pub(crate) use attempts::Place;
pub(crate) use watch::{Look, Seen};

use crate::backend::Claim;
use crate::engine::line::given::Given;
use crate::engine::line::queue::Queue;
use crate::engine::line::todo::Todo;
use crate::engine::line::waiter::Waiter;
use crate::{Error, Mode, Owner};
use std::fmt::Debug;
use std::sync::Arc;
use std::task::Waker;

/// A hold, as far as its line knows it. In the tests it is another one, which needs no store.
pub(crate) trait Holding: Debug {
    /// What a waiter is given.
    type Guard: Debug;
    /// The first attempt of a task, while it is in flight.
    type Attempt: Debug;

    fn mode(&self) -> Mode;

    fn has_owner(&self) -> bool;

    fn belongs_to(&self, owner: &Owner) -> bool;
}

/// The holders, the pending request and the waiters of a name.
#[derive(Debug)]
pub(crate) struct State<H: Holding> {
    /// The exclusive hold that guards of this client live on.
    holder: Option<Arc<H>>,
    /// Holds that keep nobody here from asking, and that their owner may enter again: shared ones, for reading, and those that
    /// were taken over from another process.
    beside: Vec<Arc<H>>,
    /// Lost holds whose owner may still try to re-enter.
    lost_holds: Vec<Arc<H>>,
    phase: Phase,
    /// The first attempt of a caller that is in flight, where it may take a while.
    first_try: Option<Arc<H::Attempt>>,
    /// The claim of a caller that is in the store's queue, until the engine continues with it. In a box: it is rare, and a
    /// third of this type.
    joined: Option<Box<Claim>>,
    /// The number of releases that were sent and not answered.
    releasing: u32,
    queue: Queue<H::Guard>,
    /// The number of calls that are changing the limit of the semaphore. Small, because of the size of this type.
    resizing: u16,
    /// The wakers of tasks that wait until nothing is in flight.
    quiet_wakers: Vec<Waker>,
    /// The error that currently keeps the store from answering.
    trouble: Option<Error>,
    given: Given<H::Guard>,
}

/// The party that is asking the store for this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// None.
    Idle,
    /// A caller's task, once.
    Trying,
    /// The engine, on behalf of waiters.
    Waiting,
}

impl<H: Holding> State<H> {
    /// Returns true if no task here holds, asks or waits.
    fn is_quiet(&self) -> bool {
        self.is_open() && self.releasing == 0 && self.awake().is_none()
    }

    /// Returns true if no task here holds or asks.
    fn is_open(&self) -> bool {
        self.holder.is_none() && self.phase == Phase::Idle
    }

    /// Returns true if there is nothing to remember.
    pub(crate) fn is_unused(&self) -> bool {
        self.is_quiet()
            && self.queue.all_left()
            && self.beside.is_empty()
            && self.lost_holds.is_empty()
            && self.quiet_wakers.is_empty()
    }

    /// Returns true if this client holds the name exclusively.
    pub(crate) fn is_held(&self) -> bool {
        self.holder.is_some()
    }

    /// Returns the first waiter for which the store is asked.
    pub(crate) fn awake(&self) -> Option<&Arc<Waiter<H::Guard>>> {
        self.queue.awake()
    }

    /// Returns the hold that this owner already holds.
    pub(crate) fn hold_of(&self, owner: &Owner) -> Option<&Arc<H>> {
        self.holder.iter().chain(&self.beside).find(|h| !h.mode().is_permits() && h.belongs_to(owner))
    }

    /// Returns the lost hold that bars this owner from taking the lock again.
    pub(crate) fn lost_by(&self, owner: &Owner) -> Option<&Arc<H>> {
        self.lost_holds.iter().find(|h| h.belongs_to(owner))
    }

    /// Returns the mode of a hold here that uses the name in another way: a lock is not a semaphore. All holds of a name
    /// use it in one way, so any of them will do.
    pub(crate) fn mixed_with(&self, mode: Mode) -> Option<Mode> {
        let held = self.holder.as_ref().or(self.beside.first())?.mode();
        (held.is_permits() != mode.is_permits()).then_some(held)
    }

    pub(crate) fn trouble(&self) -> Option<&Error> {
        self.trouble.as_ref()
    }

    pub(crate) fn first_try(&self) -> Option<&Arc<H::Attempt>> {
        self.first_try.as_ref()
    }

    /// Starts to ask the store if a task waits and nothing is asking yet. Returns true if it does.
    fn ask(&mut self) -> bool {
        let asks = self.is_open() && self.awake().is_some();
        if asks {
            self.phase = Phase::Waiting;
        }
        asks
    }

    fn wake_quiet(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.quiet_wakers)
    }

    /// Lets the next one ask, after a change that may have made room for it; otherwise the line may be unused now.
    fn next(&mut self) -> Todo {
        let (wake, ask) = (self.wake_quiet(), self.ask());
        Todo { wake, ask, retire: self.is_unused(), ..Todo::NOTHING }
    }
}

impl<H: Holding> Default for State<H> {
    fn default() -> Self {
        Self {
            holder: None,
            beside: Vec::new(),
            lost_holds: Vec::new(),
            phase: Phase::Idle,
            first_try: None,
            joined: None,
            releasing: 0,
            queue: Queue::default(),
            resizing: 0,
            quiet_wakers: Vec::new(),
            trouble: None,
            given: Given::default(),
        }
    }
}

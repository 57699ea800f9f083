//! The queue before the observers of a client.

use crate::Event;
use crate::sync::lock;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The maximum number of queued events; more are dropped and counted.
const CAPACITY: usize = 8192;
/// So many events are fetched at once.
const PLENTY: usize = CAPACITY / 4;
/// Otherwise the next events are fetched after this pause: waking a thread costs more than the event.
const PAUSE: Duration = Duration::from_millis(2);

/// A queue that never makes anybody wait who puts something into it.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    events: Vec<Event>,
    dropped: u64,
    /// The reader sleeps until the next event.
    is_idle: bool,
    is_closed: bool,
}

impl Queue {
    /// Appends an event, or counts it if there is no room.
    pub(super) fn put(&self, event: Event) {
        let mut state = self.lock();
        if state.events.len() >= CAPACITY {
            state.dropped += 1;
            return;
        }
        state.events.push(event);
        if state.is_idle || state.events.len() == PLENTY {
            state.is_idle = false;
            drop(state);
            self.wake.notify_one();
        }
    }

    /// Waits for events and moves them into `batch`, which is empty. Returns how many were dropped behind these, or `None`
    /// once the queue is closed and empty.
    pub(super) fn take(&self, batch: &mut Vec<Event>) -> Option<u64> {
        let mut state = self.lock();
        while state.is_empty() {
            if state.is_closed {
                return None;
            }
            state.is_idle = true;
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_idle = false;
        std::mem::swap(&mut state.events, batch);
        Some(std::mem::take(&mut state.dropped))
    }

    /// Lets some events come together.
    pub(super) fn pause(&self) {
        let waits = |state: &mut State| !state.is_closed && state.events.len() < PLENTY;
        let woken = self.wake.wait_timeout_while(self.lock(), PAUSE, waits);
        drop(woken.unwrap_or_else(PoisonError::into_inner));
    }

    /// Nothing more is put into it.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.wake.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    fn is_empty(&self) -> bool {
        self.events.is_empty() && self.dropped == 0
    }
}

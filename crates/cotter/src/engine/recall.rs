//! A grant that its task does not take is passed on to the next one here.
//!
//! A waiter may have stopped being polled: it sits in a `select!` whose other branch is running, or its executor is
//! busy. The lock must not sit with it while other tasks of this process wait.

use super::core::Core;
use super::turns::{Line, Slot};
use super::undo::in_background;
use crate::Guard;
use std::sync::Arc;
use std::time::Duration;

/// How long a task has to take what it was given.
const PATIENCE: Duration = Duration::from_millis(10);

/// What the watch over a line remembers.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// Who was given the lock last.
    to: Option<Arc<Slot>>,
    count: u64,
    watched: bool,
}

impl Given {
    /// Notes a hand-over; true when somebody has to start watching.
    pub(super) fn note(&mut self, to: &Arc<Slot>, others_wait: bool) -> bool {
        self.to = Some(to.clone());
        self.count += 1;
        others_wait && self.start()
    }

    /// Somebody waits behind a task that has not taken what it was given: true when that has to be watched from now on.
    pub(super) fn newcomer(&mut self) -> bool {
        self.to.as_ref().is_some_and(|slot| slot.is_given()) && self.start()
    }

    fn start(&mut self) -> bool {
        !std::mem::replace(&mut self.watched, true)
    }
}

/// Looks after a line for as long as the lock goes from task to task.
pub(super) fn watch(core: &Arc<Core>, line: &Arc<Line>) {
    let (watched, line) = (core.clone(), line.clone());
    in_background(core, async move {
        let mut seen = 0;
        loop {
            watched.clock().sleep_until(watched.now() + PATIENCE).await;
            match look(&line, seen) {
                Look::Quiet => return,
                Look::Moving(count) => seen = count,
                // Dropped outside of the line's lock: that is what passes it on.
                Look::Untaken(guard) => drop(guard),
            }
        }
    });
}

enum Look {
    /// Nothing was handed over since the last look, and what was given was taken.
    Quiet,
    Moving(u64),
    Untaken(Box<Guard>),
}

fn look(line: &Line, seen: u64) -> Look {
    let mut state = line.state();
    let others_wait = state.head().is_some();
    let given = &mut state.given;
    if given.count != seen {
        return Look::Moving(given.count);
    }
    if let (Some(slot), true) = (given.to.clone(), others_wait) {
        if let Some(guard) = slot.recall() {
            state.waiters.push_front(slot);
            return Look::Untaken(guard);
        }
    }
    if others_wait && given.to.as_ref().is_some_and(|s| s.is_given()) {
        return Look::Moving(seen);
    }
    given.watched = false;
    Look::Quiet
}

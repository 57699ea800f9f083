//! A grant that its task does not take is passed on to the next one here.
//!
//! A task may have stopped being polled: it sits in a `select!` whose other branch is running, or its executor is
//! busy. The lock must not sit with it while other tasks of this process wait, nor may they wait for the answer to a
//! question or a release that it does not take in.

use crate::Guard;
use crate::engine::core::Core;
use crate::engine::grant::undo::in_background;
use crate::engine::queue::ask_store::kick;
use crate::engine::queue::first_try::{SharedTry, take_over};
use crate::engine::queue::line::Line;
use crate::engine::queue::waiter::Waiter;
use crate::engine::timing::TAKE_WITHIN;
use std::sync::Arc;

/// What the watch over a line remembers.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// Who was given the lock last.
    to: Option<Arc<Waiter>>,
    count: u64,
    watched: bool,
}

impl Given {
    /// Notes a hand-over; true when somebody has to start watching.
    pub(crate) fn note(&mut self, to: &Arc<Waiter>, others_wait: bool) -> bool {
        self.to = Some(to.clone());
        self.count += 1;
        others_wait && self.start()
    }

    /// Somebody waits behind a task that has not taken what it was given, or whose request is on its way: true when that
    /// has to be watched from now on.
    pub(crate) fn newcomer(&mut self, behind_a_request: bool) -> bool {
        (behind_a_request || self.to.as_ref().is_some_and(|waiter| waiter.is_given())) && self.start()
    }

    /// True when somebody has to start watching.
    pub(crate) fn start(&mut self) -> bool {
        !std::mem::replace(&mut self.watched, true)
    }
}

/// Looks after a line for as long as the lock goes from task to task.
pub(crate) fn watch(core: &Arc<Core>, line: &Arc<Line>) {
    let (core, line) = (core.clone(), line.clone());
    in_background(&core.clone(), async move {
        let mut seen = Seen::default();
        loop {
            core.clock().sleep_until(core.now() + TAKE_WITHIN).await;
            match look(&line, &mut seen) {
                Look::Quiet => return,
                Look::Moving => {}
                // Dropped outside of the line's lock: that is what passes it on.
                Look::Untaken(guard) => drop(guard),
                Look::Unasked(attempt) => take_over(&core, &line, &attempt),
                Look::Unanswered => kick(&core, &line),
            }
        }
    });
}

/// What the last look saw.
#[derive(Default)]
struct Seen {
    count: u64,
    first_try: Option<Arc<SharedTry>>,
    /// How many releases had been sent, if the last one was not answered.
    released: Option<u64>,
}

enum Look {
    /// Nothing was handed over since the last look, what was given was taken, nobody asks.
    Quiet,
    Moving,
    Untaken(Box<Guard>),
    /// The same attempt as at the last look is still on its way.
    Unasked(Arc<SharedTry>),
    /// The same release as at the last look is still not answered.
    Unanswered,
}

fn look(line: &Line, seen: &mut Seen) -> Look {
    let mut state = line.state();
    let others_wait = state.head().is_some();
    let first_try = state.first_try.clone().filter(|_| others_wait);
    let before = std::mem::replace(&mut seen.first_try, first_try.clone());
    if let Some(attempt) = first_try {
        let same = before.is_some_and(|b| Arc::ptr_eq(&b, &attempt));
        return if same { Look::Unasked(attempt) } else { Look::Moving };
    }
    let unanswered = (others_wait && state.releasing > 0 && state.is_open()).then_some(state.released);
    if let Some(release) = unanswered {
        let before = seen.released.replace(release);
        return if before == unanswered { Look::Unanswered } else { Look::Moving };
    }
    if state.given.count != seen.count {
        seen.count = state.given.count;
        return Look::Moving;
    }
    if let Some(waiter) = state.given.to.clone().filter(|_| others_wait)
        && let Some(guard) = waiter.recall()
    {
        state.waiters.push_front(waiter);
        return Look::Untaken(guard);
    }
    state.given.watched = false;
    Look::Quiet
}

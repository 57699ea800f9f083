//! Recall of a grant that its task does not take: it is passed on to the next local waiter.
//!
//! A task may have stopped being polled: it sits in a `select!` whose other branch is running, or its executor is
//! busy. The lock must not stay with it while other tasks of this process wait, nor may they wait for an answer to a
//! request or a release that it does not process.

use crate::Guard;
use crate::engine::background::in_background;
use crate::engine::core::Core;
use crate::engine::queue::ask_store::kick;
use crate::engine::queue::first_try::{SharedTry, take_over};
use crate::engine::queue::line::Line;
use crate::engine::queue::waiter::Waiter;
use crate::engine::timing::TAKE_WITHIN;
use std::sync::Arc;

/// The state of the watch over a line.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// The waiter that was last given the lock.
    to: Option<Arc<Waiter>>,
    count: u32,
    watched: bool,
}

impl Given {
    /// Records a hand-over. Returns true when a watch must be started.
    pub(crate) fn note(&mut self, to: &Arc<Waiter>, others_wait: bool) -> bool {
        self.to = Some(to.clone());
        self.count = self.count.wrapping_add(1);
        others_wait && self.start()
    }

    /// Records a task that waits behind one that has not taken its guard, or whose request is in flight. Returns true
    /// when that must be watched from now on.
    pub(crate) fn newcomer(&mut self, behind_a_request: bool) -> bool {
        (behind_a_request || self.to.as_ref().is_some_and(|waiter| waiter.is_given())) && self.start()
    }

    /// Returns true when a watch must be started.
    pub(crate) fn start(&mut self) -> bool {
        !std::mem::replace(&mut self.watched, true)
    }
}

/// Watches a line for as long as the lock passes from task to task.
pub(crate) fn watch(core: &Arc<Core>, line: &Arc<Line>) {
    let (core, line) = (core.clone(), line.clone());
    in_background(&core.clone(), async move {
        let mut seen = Seen::default();
        loop {
            core.clock().sleep_until(core.now() + TAKE_WITHIN).await;
            match look(&line, &mut seen) {
                Look::Quiet => return,
                Look::Moving => {}
                // Dropped outside of the line's lock: the drop passes it on.
                Look::Untaken(guard) => drop(guard),
                Look::Unasked(attempt) => take_over(&core, &line, &attempt),
                Look::Unanswered => kick(&core, &line),
            }
        }
    });
}

/// The findings of the last look.
#[derive(Default)]
struct Seen {
    count: u32,
    first_try: Option<Arc<SharedTry>>,
    /// The number of releases that had been sent, if the last one was unanswered.
    released: Option<u32>,
}

enum Look {
    /// Nothing was handed over since the last look, every guard was taken, and no request is pending.
    Quiet,
    Moving,
    Untaken(Box<Guard>),
    /// The attempt of the last look is still in flight.
    Unasked(Arc<SharedTry>),
    /// The release of the last look is still unanswered.
    Unanswered,
}

fn look(line: &Line, seen: &mut Seen) -> Look {
    let mut state = line.state();
    let others_wait = state.awake().is_some();
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
    // If all others sleep as well, those of other processes have their turn.
    let is_alone = state.head().is_none();
    if let Some(waiter) = state.given.to.clone().filter(|_| !is_alone)
        && let Some(guard) = waiter.recall()
    {
        state.waiters.push_front(waiter);
        return Look::Untaken(guard);
    }
    state.given.watched = false;
    Look::Quiet
}

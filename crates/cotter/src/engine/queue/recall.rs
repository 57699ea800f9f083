//! Recall of a grant that its task does not take: it is passed on to the next local waiter.
//!
//! A task may have stopped being polled: it sits in a `select!` whose other branch is running, or its executor is
//! busy. The lock must not stay with it while other tasks of this process wait, nor may they wait for an answer to a
//! request or a release that it does not process.

use crate::engine::background::in_background;
use crate::engine::core::Core;
use crate::engine::grant::hold::Line;
use crate::engine::line::run::change_with;
use crate::engine::line::state::{Look, Seen};
use crate::engine::queue::first_try::take_over;
use crate::engine::timing::TAKE_WITHIN;
use std::sync::Arc;

/// Watches a line for as long as the lock passes from task to task.
pub(crate) fn watch(core: &Arc<Core>, line: &Arc<Line>) {
    let (core, line) = (core.clone(), line.clone());
    in_background(&core.clone(), async move {
        let mut seen = Seen::default();
        loop {
            core.clock().sleep_until(core.now() + TAKE_WITHIN).await;
            match change_with(&core, &line, |state| state.look(&mut seen)) {
                Look::Quiet => return,
                Look::Moving => {}
                // Dropped outside of the line's lock: the drop passes it on.
                Look::Untaken(guard) => drop(guard),
                Look::Unasked(attempt) => take_over(&core, &line, &attempt),
            }
        }
    });
}

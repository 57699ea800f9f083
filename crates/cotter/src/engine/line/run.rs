//! Changes a line, and does what has to follow: the only place that does either.
//!
//! What follows is done once the lock of the line is let go: a task that is woken may want the line at once, and the map of lines
//! is locked before any of them.

use crate::engine::core::Core;
use crate::engine::grant::hold::{Hold, Line};
use crate::engine::line::state::State;
use crate::engine::line::todo::Todo;
use crate::engine::queue::ask_store::start_asking;
use crate::engine::queue::recall::watch;
use std::sync::Arc;
use std::task::Waker;

/// Changes a line, and does what has to follow.
pub(crate) fn change(core: &Arc<Core>, line: &Arc<Line>, step: impl FnOnce(&mut State<Hold>) -> Todo) {
    change_with(core, line, |state| ((), step(state)));
}

/// The same, for a change that returns something.
pub(crate) fn change_with<R>(
    core: &Arc<Core>,
    line: &Arc<Line>,
    step: impl FnOnce(&mut State<Hold>) -> (R, Todo),
) -> R {
    let (result, todo) = step(&mut line.state());
    carry_out(core, line, todo);
    result
}

fn carry_out(core: &Arc<Core>, line: &Arc<Line>, todo: Todo) {
    todo.wake.into_iter().for_each(Waker::wake);
    if todo.tell {
        line.changed.notify_one();
    }
    if todo.watch {
        watch(core, line);
    }
    if todo.ask {
        start_asking(core, line);
    }
    if todo.retire {
        core.lines.retire(line);
    }
}

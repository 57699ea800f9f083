//! The wait of a task in the line.

use crate::engine::core::Core;
use crate::engine::grant::hold::{Line, Waiter};
use crate::engine::line::run::{change, change_with};
use crate::engine::line::todo::Todo;
use crate::engine::line::waiter::Left;
use crate::engine::timing::{LATE_ANSWER, ROUND_TRIP};
use crate::{Guard, Moment, Result};
use std::future::poll_fn;
use std::sync::Arc;

/// The wait of a task in the line. Dropping it leaves the queue.
pub(super) struct Waiting {
    core: Arc<Core>,
    line: Arc<Line>,
    waiter: Arc<Waiter>,
    since: Moment,
}

impl Waiting {
    pub(super) fn new(core: &Arc<Core>, line: &Arc<Line>, waiter: Arc<Waiter>) -> Self {
        Self { core: core.clone(), line: line.clone(), waiter, since: core.now() }
    }

    pub(super) async fn wait(self) -> Result<Option<Guard>> {
        let answer = poll_fn(|cx| {
            let slept = !self.waiter.is_awake();
            let answer = self.waiter.poll(cx);
            if slept && answer.is_pending() {
                change(&self.core, &self.line, |state| state.woke_up());
            }
            answer
        });
        if self.waiter.last == Moment::NEVER {
            return answer.await.map(Some);
        }
        self.core.check_pulse(self.since);
        tokio::select! {
            biased;
            answer = answer => answer.map(Some),
            () = self.core.clock().sleep_until(self.waiter.last) => self.time_over().await,
        }
    }

    /// Reports busy, unless the wait was caused by the store itself.
    async fn time_over(&self) -> Result<Option<Guard>> {
        let is_queued = match self.waiter.leave() {
            Left::With(guard) => return Ok(Some(guard)),
            left => matches!(left, Left::Queue),
        };
        let (trouble, held_here) = change_with(&self.core, &self.line, |state| {
            let found = (state.trouble().cloned(), state.is_held());
            (found, if is_queued { state.left() } else { Todo::NOTHING })
        });
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        if !held_here {
            let by = (self.waiter.last + LATE_ANSWER).max(self.since + ROUND_TRIP);
            self.core.answers_since(self.since, by).await.map_err(|e| e.with_name(&self.line.name))?;
        }
        Ok(None)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // A guard that has arrived is dropped behind that, which passes it on.
        let left = self.waiter.leave();
        if matches!(left, Left::Queue) {
            change(&self.core, &self.line, |state| state.left());
        }
    }
}

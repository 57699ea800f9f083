//! A change of the limit of a semaphore: the tasks that wait here go on under the new one.

use crate::engine::core::Core;
use crate::engine::queue::acquire::Handle;
use crate::engine::queue::line::{Line, Lines};
use crate::{Name, Result};
use std::future::Future;
use std::sync::Arc;

/// Changes the limit at the store with `change`, and for the tasks that wait here under the old one. Only one of them is
/// in the store's queue, so the store cannot tell that the others waited as well.
pub(crate) async fn resize(
    core: &Arc<Core>,
    handle: &Handle,
    name: &Name,
    (from, to): (u32, u32),
    change: impl Future<Output = Result<()>>,
) -> Result<()> {
    let line = handle.get_or_init(|| Lines::keep(core, name)).line.clone();
    let resizing = Resizing::start(line);
    change.await?;
    resizing.line.state().waiters.iter().for_each(|waiter| waiter.resize(from, to));
    Ok(())
}

/// While the change is on its way, nobody here is told that the store refuses the old limit.
struct Resizing {
    line: Arc<Line>,
}

impl Resizing {
    fn start(line: Arc<Line>) -> Self {
        let resizing = Self { line };
        resizing.count(|n| n.wrapping_add(1));
        resizing
    }

    fn count(&self, change: impl FnOnce(u16) -> u16) {
        let mut state = self.line.state();
        state.resizing = change(state.resizing);
    }
}

impl Drop for Resizing {
    fn drop(&mut self) {
        self.count(|n| n.wrapping_sub(1));
        self.line.changed.notify_one();
    }
}

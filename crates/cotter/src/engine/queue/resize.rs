//! A change of the limit of a semaphore: the tasks that wait here go on under the new one.

use crate::engine::core::Core;
use crate::engine::grant::hold::Line;
use crate::engine::line::handle::{Handle, LineHandle};
use crate::engine::line::run::change;
use crate::{Name, Result};
use std::future::Future;
use std::sync::Arc;

/// Changes the limit at the store with `ask`, and for the tasks that wait here under the old one. Only one of them is
/// in the store's queue, so the store cannot tell that the others waited as well.
pub(crate) async fn resize(
    core: &Arc<Core>,
    handle: &Handle,
    name: &Name,
    (from, to): (u32, u32),
    ask: impl Future<Output = Result<()>>,
) -> Result<()> {
    let line = handle.get_or_init(|| LineHandle::new(core, name)).line.clone();
    let _resizing = Resizing::start(core, &line);
    ask.await?;
    change(core, &line, |state| state.resize(from, to));
    Ok(())
}

/// While the change is on its way, nobody here is told that the store refuses the old limit.
struct Resizing {
    core: Arc<Core>,
    line: Arc<Line>,
}

impl Resizing {
    fn start(core: &Arc<Core>, line: &Arc<Line>) -> Self {
        change(core, line, |state| state.resizing());
        Self { core: core.clone(), line: line.clone() }
    }
}

impl Drop for Resizing {
    fn drop(&mut self) {
        change(&self.core, &self.line, |state| state.resized());
    }
}

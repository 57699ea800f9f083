//! A line that is kept for as long as somebody needs it: a primitive, mostly.

use crate::Name;
use crate::engine::core::Core;
use crate::engine::grant::hold::Line;
use std::sync::{Arc, OnceLock};

/// The line of a primitive, looked up on first use: a task that locks one name repeatedly looks it up once.
pub(crate) type Handle = Arc<OnceLock<LineHandle>>;

/// Keeps a line in the map.
pub(crate) struct LineHandle {
    core: Arc<Core>,
    pub(crate) line: Arc<Line>,
}

impl LineHandle {
    pub(crate) fn new(core: &Arc<Core>, name: &Name) -> Self {
        Self { core: core.clone(), line: core.lines.keep(name) }
    }
}

impl Drop for LineHandle {
    fn drop(&mut self) {
        self.line.let_go();
        self.core.lines.retire(&self.line);
    }
}

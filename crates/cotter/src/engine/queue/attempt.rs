//! An acquisition, as observers and the log see it: it ends in one way.

use crate::engine::core::Core;
use crate::engine::report::TARGET;
use crate::{Error, Event, EventKind, Guard, Mode, Moment, Name, Result};
use std::sync::Arc;
use std::time::Duration;
use tracing::{Level, Span};

/// A call that asks for a lock. Dropping it tells that the call was dropped.
pub(crate) struct Attempt<'a> {
    core: &'a Arc<Core>,
    name: &'a Name,
    mode: Mode,
    /// When it began; `None` once its end was told, or if nobody wants to know.
    since: Option<Moment>,
}

impl<'a> Attempt<'a> {
    pub(crate) fn begin(core: &'a Arc<Core>, name: &'a Name, mode: Mode) -> Self {
        let since = core.reporter.wants(Level::DEBUG).then(|| core.now());
        Self { core, name, mode, since }
    }

    /// Ends with this outcome.
    pub(crate) fn end(mut self, outcome: Result<Option<&Guard>, &Error>) {
        let Some(since) = self.since.take() else { return };
        match outcome {
            Ok(Some(guard)) => guard.hold().tell_acquired(since),
            Ok(None) => self.tell(since, |waited| EventKind::Busy { waited }),
            Err(e) => self.tell(since, |waited| EventKind::Failed { kind: e.kind(), waited }),
        }
    }

    fn tell(&self, since: Moment, kind: impl FnOnce(Duration) -> EventKind) {
        // A fork has none of the threads that would tell, and may have the locks that they held.
        if !self.core.engine.is_forked() {
            let kind = kind(self.core.now().since(since));
            self.core.reporter.tell(Event::of_lock(self.name.clone(), self.mode, kind));
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if let Some(since) = self.since.take() {
            self.tell(since, |waited| EventKind::GaveUp { waited });
        }
    }
}

/// Returns a span for the caller's task, if its subscriber wants one. The subscriber may run there.
pub(crate) fn span(name: &Name, mode: Mode) -> Option<Span> {
    let span =
        tracing::debug_span!(target: TARGET, "cotter.acquire", lock.name = %name, lock.mode = mode.as_str());
    (!span.is_disabled()).then_some(span)
}

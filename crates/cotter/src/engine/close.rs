//! The end of a client.

use crate::engine::core::Core;
use crate::engine::queue::first_try::take_over;
use crate::engine::timing::{CLOSE_LOOK, LAST_RELEASES};
use crate::{Error, ErrorKind, LossCause, Moment, Result};
use std::sync::Arc;
use std::time::Duration;

impl Core {
    /// Refuses new work, waits for current holds and clean-up, then ends the rest.
    pub(crate) async fn close(self: Arc<Self>, grace: Duration) -> Result<()> {
        // Tasks that ask the store on behalf of waiters stop and fail those waiters; pending clean-up is done now.
        if !self.background.close() {
            return Ok(());
        }
        let end = self.now() + grace;
        self.quiet_by(end).await;
        self.background.end();
        for hold in self.engine.agenda().of(&self) {
            hold.lose(LossCause::Closed);
        }
        // Attempts of tasks that have stopped polling them: what they were granted is released while there is a connection.
        for line in self.lines.all() {
            let attempt = line.read(|state| state.first_try().cloned());
            attempt.into_iter().for_each(|attempt| take_over(&self, &line, &attempt));
        }
        let settled = self.background.idle_by(self.clock(), end.max(self.now() + LAST_RELEASES)).await;
        for connection in self.connections.drain() {
            connection.close().await;
        }
        self.backend.close().await;
        self.tasks().finish(self.clock(), end.max(self.now() + LAST_RELEASES)).await;
        if settled {
            return Ok(());
        }
        let why =
            "the client was closed before the store had answered every release; their leases will expire";
        Err(Error::new(ErrorKind::Unavailable, why).with_backend(self.backend.info().scheme))
    }

    async fn quiet_by(self: &Arc<Self>, end: Moment) {
        loop {
            while !self.engine.agenda().of(self).is_empty() && self.now() < end {
                let step = self.now() + CLOSE_LOOK;
                self.clock().sleep_until(step.min(end)).await;
            }
            // An attempt that was in flight may have become a hold meanwhile.
            let is_idle = self.background.idle_by(self.clock(), end).await;
            if !is_idle || self.now() >= end || self.engine.agenda().of(self).is_empty() {
                return;
            }
        }
    }
}

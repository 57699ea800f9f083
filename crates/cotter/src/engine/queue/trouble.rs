//! Trouble with the store while the engine asks it: what those that wait are told, and when it is asked again.

use crate::backend::Claim;
use crate::engine::grant::hold::Waiter;
use crate::engine::line::run::change;
use crate::engine::queue::ask_store::Server;
use crate::engine::report::Doing;
use crate::engine::timing::{HEARTBEAT, HEARTBEATS};
use crate::sync::lock;
use crate::{Error, ErrorKind, Mode, Moment};
use std::convert::Infallible;
use std::sync::Arc;

impl Server {
    /// Watches the store while a request is queued there: such a request gets no answer, whether the store is alive or
    /// not. If it is, an outage before this request is over, although its answer may take hours.
    pub(super) async fn mind_the_store(&self) -> Infallible {
        let core = &self.core;
        if core.is_immediate() {
            return std::future::pending().await;
        }
        let beat = (core.settings.give_up / HEARTBEATS).clamp(HEARTBEAT.0, HEARTBEAT.1);
        loop {
            let before = core.now();
            core.clock().sleep_until(before + beat).await;
            let asked = core.now();
            match core.answers_since(before, asked + HEARTBEAT.1).await {
                Ok(()) => self.recovered(),
                Err(e) => {
                    let since = *lock(&self.down_since).get_or_insert(asked);
                    self.in_trouble(&e.with_name(&self.line.name), since, None);
                    self.line.changed.notify_one();
                }
            }
        }
    }

    /// Handles an error. Retryable: fails the waiters that have waited too long, and pauses. Otherwise: fails all whom it
    /// concerns.
    pub(super) async fn failed(&mut self, error: Error, head: &Arc<Waiter>, claim: &Claim) {
        let now = self.core.now();
        let since = *lock(&self.down_since).get_or_insert(now);
        let told = self.core.at_the_server(error.clone()).with_name(&self.line.name);
        // Others here may use the name in the way that is refused to these.
        let only = (error.kind() == ErrorKind::LimitMismatch).then_some(claim.mode);
        if only.is_some() {
            self.until_resized().await;
        }
        self.in_trouble(&told, since, only);
        if error.is_retryable() {
            self.pause(head).await;
        }
    }

    /// The store may have answered under a new limit that this client has set, and has not yet told the waiters.
    async fn until_resized(&self) {
        while self.line.read(|state| state.is_resizing()) && !self.core.is_closed() {
            tokio::select! {
                () = self.line.changed.notified() => {}
                () = self.core.closing() => {}
            }
        }
    }

    /// Notes an error, and fails those whom it gives no hope: all, or only those of this mode.
    fn in_trouble(&self, error: &Error, since: Moment, only: Option<Mode>) {
        if only.is_none() {
            self.core.failed(Doing::Acquiring, &self.line.name, error);
        }
        let too_long = self.core.now().since(since) >= self.core.settings.give_up;
        change(&self.core, &self.line, |state| state.in_trouble(error, only, too_long));
    }

    /// Waits for the back-off, or less when the queue changes in a relevant way.
    async fn pause(&mut self, head: &Waiter) {
        let mut sleep = self.core.clock().sleep_until(self.core.now() + self.pauses.pause());
        loop {
            tokio::select! {
                biased;
                () = &mut sleep => return,
                () = self.line.changed.notified() => {}
                () = self.core.closing() => {}
            }
            if self.is_moot(head) {
                return;
            }
        }
    }
}

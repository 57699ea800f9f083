//! Saying what a run waits for, for as long as it does.

use super::context::Context;
use super::snapshot::JobSnapshot;
use crate::notes::waits::{self, REPEATED, Wait};
use crate::{EventKind, UnixTime};
use cotter::Filter;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// A wait that is shorter is nothing to speak of.
const UNTOLD: Duration = Duration::from_secs(5);
/// How often it looks whether the run waits for something else by now.
const LOOK: Duration = Duration::from_secs(1);
/// How long the end of a wait may hold up the run that follows. What is not taken back runs out.
const FAREWELL: Duration = Duration::from_secs(1);

/// A run that waits at the gates.
pub(super) struct Waiting<'a> {
    context: &'a Context,
    snapshot: &'a JobSnapshot,
    since: UnixTime,
    /// Whether it has the lock, and waits for a place within the limit.
    at_limit: AtomicBool,
    is_told: AtomicBool,
}

impl<'a> Waiting<'a> {
    pub(super) fn of(context: &'a Context, snapshot: &'a JobSnapshot) -> Self {
        let since = context.clock.now();
        Self { context, snapshot, since, at_limit: false.into(), is_told: false.into() }
    }

    pub(super) fn for_limit(&self, yes: bool) {
        self.at_limit.store(yes, Relaxed);
    }

    /// What it waits for.
    fn lock(&self) -> &str {
        let policy = &self.snapshot.job.policy;
        let limit = policy.limit.as_ref().map(|(name, _)| &**name);
        let first = policy.lock.as_deref().filter(|_| !self.at_limit.load(Relaxed));
        first.or(limit).unwrap_or_default()
    }

    /// Says so after a while, once as an event, and again and again in the store. It is only shown: what cannot be written now is
    /// written again later.
    pub(super) async fn tell(&self) -> Infallible {
        let clock = &self.context.clock;
        clock.sleep(UNTOLD).await;
        loop {
            let (lock, at) = (self.lock(), clock.now());
            let held_by = self.holder(lock).await;
            if !self.is_told.swap(true, Relaxed) {
                let event = EventKind::Waiting { lock: lock.to_owned(), held_by: held_by.clone() };
                self.context.emit(self.snapshot.name(), event);
            }
            let host = self.context.settings.host.clone();
            let wait = Wait { lock: lock.to_owned(), held_by, host, since: self.since, at };
            let _ = self.write(Some(&wait)).await;
            while lock == self.lock() && clock.now().since(at) < REPEATED {
                clock.sleep(LOOK).await;
            }
        }
    }

    /// Takes back what was said.
    pub(super) async fn end(&self) {
        if self.is_told.load(Relaxed) {
            tokio::select! {
                _ = self.write(None) => {}
                () = self.context.clock.sleep(FAREWELL) => {}
            }
        }
    }

    async fn write(&self, wait: Option<&Wait>) -> cotter::Result<()> {
        let (settings, job) = (&self.context.settings, self.snapshot.name());
        let now = self.context.clock.now();
        waits::tell(&settings.client, &settings.group, job, &self.context.id, wait, now).await
    }

    async fn holder(&self, lock: &str) -> Option<String> {
        let name = cotter::Name::new(lock).ok()?;
        let mut found = self.context.settings.client.admin().list(Filter::exactly(&name));
        let record = found.next().await.ok()??;
        record.holders.into_iter().next().map(|holder| holder.label)
    }
}

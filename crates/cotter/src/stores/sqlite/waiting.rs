//! Waiting in the queue of a name.

use super::backend::Sqlite;
use super::state::Asking;
use crate::Result;
use crate::backend::poll::Attempt;
use crate::backend::{Claim, Grant};
use crate::stores::shared::sql::grant;
use crate::sys::watch::Watch;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// A waiter keeps its place by asking at least this often.
const PERIOD: Duration = Duration::from_millis(700);
/// The same, where the system does not tell of changes.
const PERIOD_WITHOUT_EVENTS: Duration = Duration::from_millis(20);
/// An event comes before the change can be seen: after one that showed nothing, the row is read once more.
const SECOND_LOOK: Duration = Duration::from_millis(2);

/// A claim that waits. It joins the queue with its first attempt, and keeps its place by asking.
pub(super) struct Waiting<'a> {
    store: &'a Sqlite,
    claim: &'a Claim,
    woken: Arc<Notify>,
    by_event: Arc<AtomicBool>,
    watch: Option<Watch>,
    period: Duration,
}

impl<'a> Waiting<'a> {
    pub(super) fn new(store: &'a Sqlite, claim: &'a Claim) -> Self {
        let (woken, by_event) = (Arc::default(), Arc::default());
        Self { store, claim, woken, by_event, watch: None, period: PERIOD }
    }

    fn start_watching(&mut self) {
        let (watcher, directory) = (self.store.watcher(), self.store.connection.directory());
        self.watch = watcher.and_then(|watcher| watcher.watch_writes(directory, &self.woken));
    }
}

impl Attempt for Waiting<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        if self.watch.is_none() {
            self.start_watching();
        }
        let by_event = self.by_event.swap(false, Ordering::Relaxed);
        let claim = self.claim.clone();
        let (answer, now) = self
            .store
            .change(&self.claim.name, move |lock, now| {
                let held = lock.take_or_queue(&claim, &Asking::at(now.at), now)?;
                Ok((held, lock.next_end()))
            })
            .await?;
        let (held, next_end) = answer;
        let longest = if self.watch.is_some() { PERIOD } else { PERIOD_WITHOUT_EVENTS };
        self.period = match next_end {
            _ if by_event => SECOND_LOOK,
            Some(end) => longest.min(end.since(now.at)),
            None => longest,
        };
        Ok(held.map(|held| grant(held, now, now.at)))
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let (woken, by_event) = (self.woken.clone().notified_owned(), self.by_event.clone());
        Box::pin(async move {
            woken.await;
            by_event.store(true, Ordering::Relaxed);
        })
    }

    fn period(&self) -> Duration {
        self.period
    }
}

//! Waiting for a lock: a ticket, a watch, and a look now and then.

use super::backend::Files;
use super::queue::{Rank, Rival, Ticket, arrival};
use super::spot::Spot;
use super::watch::{Signal, Watch};
use crate::backend::{Claim, Grant};
use crate::poll::Attempt;
use crate::{Error, Result};
use rustix::fs::inotify::WatchFlags;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// The kernel raises the event of a dying process shortly before or after it drops the lock: look again soon after one.
const SOON: [Duration; 3] = [Duration::from_millis(1), Duration::from_millis(4), Duration::from_millis(15)];
/// A free lock is noticed after this long, events or not.
const LOOK: Duration = Duration::from_millis(50);

/// One who waits; dropped, it leaves the queue.
pub(super) struct Place<'a> {
    files: &'a Files,
    claim: &'a Claim,
    spot: Spot,
    ticket: Option<Ticket>,
    /// Who comes next before us.
    before: Option<Rival>,
    watch: Option<Watch>,
    signal: Arc<Signal>,
    /// How many events were seen, and how many looks there were since the last.
    seen: u64,
    looks: usize,
}

impl<'a> Place<'a> {
    pub(super) fn new(files: &'a Files, claim: &'a Claim) -> Self {
        files.holds.wait(claim.id);
        Self {
            files,
            claim,
            spot: files.spot(&claim.name),
            ticket: None,
            before: None,
            watch: None,
            signal: Arc::default(),
            seen: 0,
            looks: 0,
        }
    }

    /// A try when it is our turn.
    fn look(&mut self) -> Result<Option<Grant>> {
        if !self.files.holds.is_waiting(self.claim.id) {
            return Err(Error::not_ours(self.claim.id).with_name(&self.claim.name));
        }
        let Some(number) = self.ticket.as_ref().map(|t| t.number) else { return self.come() };
        let quiet = !self.count();
        if quiet && self.before.as_ref().is_some_and(Rival::is_listening) {
            return Ok(None);
        }
        self.before = None;
        loop {
            let ticket = self.ticket.as_ref().expect("taken above");
            match self.spot.queue.rank(ticket)? {
                Rank::First => return self.try_it(),
                Rank::Missing => self.ticket = Some(self.spot.queue.enter(number)?),
                Rank::Behind(rival) => {
                    self.watch(rival.path());
                    // It may have left before it was watched.
                    if rival.is_listening() {
                        self.before = Some(rival);
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Like anybody who does not want to wait; then in line.
    fn come(&mut self) -> Result<Option<Grant>> {
        let granted = self.files.take(self.claim, &self.spot, false)?;
        if granted.is_some() {
            return Ok(granted);
        }
        self.ticket = Some(self.spot.queue.enter(arrival())?);
        self.look()
    }

    fn try_it(&mut self) -> Result<Option<Grant>> {
        let path = self.spot.lock.clone();
        self.watch(&path);
        self.files.take(self.claim, &self.spot, true)
    }

    fn watch(&mut self, path: &Path) {
        let watcher = self.files.watcher.as_ref();
        // The new one first: a file that stays the same stays watched.
        self.watch = watcher.and_then(|w| w.watch(path, WatchFlags::CLOSE_WRITE, &self.signal));
    }

    /// Whether there was an event since the last look.
    fn count(&mut self) -> bool {
        let events = self.signal.events();
        let news = events != self.seen;
        self.seen = events;
        self.looks = if news { 0 } else { self.looks + 1 };
        news
    }
}

impl Attempt for Place<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        self.look()
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.signal.woken.clone().notified_owned())
    }

    fn period(&self) -> Duration {
        SOON.get(self.looks).copied().unwrap_or(LOOK)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.files.holds.leave(self.claim.id);
    }
}

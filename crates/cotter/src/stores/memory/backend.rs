//! The contract in memory, and waiting.

use super::{Lock, MIN_TTL, Shared};
use crate::backend::poll::{self, Attempt};
use crate::backend::{
    Acquired, Admin, Backend, Capabilities, Claim, Extension, Grant, Info, Leave, Member, Notes, Release,
    Until,
};
use crate::stores::shared::lock_state::{Held, Now};
use crate::{Clock, Error, Moment, Name, Result};
use async_trait::async_trait;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;

/// The connection of one client to a memory store.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) shared: Arc<Shared>,
    pub(super) clock: Arc<dyn Clock>,
    info: Info,
}

impl Memory {
    pub(super) fn new(shared: Arc<Shared>, clock: Arc<dyn Clock>) -> Self {
        let mut info = Info::new("memory", format!("memory of this process (store {})", shared.number));
        info.capabilities = Capabilities { immediate: true, ..Capabilities::complete(MIN_TTL) };
        Self { shared, clock, info }
    }

    /// Returns the grant for a held lock, with the time that is actually left.
    fn grant(&self, held: Held, now: Now, as_of: Moment) -> Grant {
        let left = held.ends.since(now.at);
        let mut grant = Grant::new(held.claim, held.number, as_of);
        (grant.turns, grant.ttl) = (held.turns, Some(left));
        grant
    }

    /// Returns the current time on the client's clock, unless it is the clock of the store.
    fn own_time(&self) -> Option<Moment> {
        let one_clock = Arc::ptr_eq(&self.clock, &self.shared.time().clock);
        (!one_clock).then(|| self.clock.now())
    }

    /// The end of a wait on the store's clock. That of the client may count from another origin.
    pub(super) fn on_store_clock(&self, until: Until) -> Until {
        let now = self.shared.now();
        match (until, until.left(self.own_time().unwrap_or(now.at))) {
            (Until::Moment(_), Some(left)) => Until::Moment(now.at + left),
            _ => until,
        }
    }

    /// Runs a request on the lock of a claim. The grant counts from the client's time before the request.
    pub(super) fn request(
        &self,
        claim: &Claim,
        request: impl FnOnce(&mut Lock, Now) -> Result<Option<Held>>,
    ) -> Result<Option<Grant>> {
        let before = self.own_time();
        self.shared.with(&claim.name, |lock, now| {
            let held = request(lock, now).map_err(|e| e.with_backend("memory"))?;
            Ok(held.map(|h| self.grant(h, now, before.unwrap_or(now.at))))
        })
    }

    async fn wait(&self, claim: &Claim, until: Until) -> Result<Option<Grant>> {
        let store = &*self.shared.time().clock;
        let mut entry = QueueEntry { memory: self, claim, woken: Arc::default(), granted: false };
        poll::until(store, self.on_store_clock(until), &mut entry).await
    }
}

/// The longest time that a waiter sleeps without checking again.
const MAX_POLL_PERIOD: Duration = Duration::from_secs(60);

/// A claim that waits in the queue. Dropping it before the grant leaves the queue.
struct QueueEntry<'a> {
    memory: &'a Memory,
    claim: &'a Claim,
    woken: Arc<Notify>,
    granted: bool,
}

impl Attempt for QueueEntry<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        let Self { memory, claim, woken, .. } = self;
        let granted = memory.request(claim, |lock, now| lock.take_or_queue(claim, woken, now))?;
        self.granted = granted.is_some();
        Ok(granted)
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.woken.clone().notified_owned())
    }

    /// Returns the time until the next lease ends.
    fn period(&self) -> Duration {
        let name = &self.claim.name;
        let ends = self.memory.shared.with(name, |lock, now| lock.next_end().map(|e| e.since(now.at)));
        ends.unwrap_or(MAX_POLL_PERIOD).min(MAX_POLL_PERIOD)
    }
}

impl Drop for QueueEntry<'_> {
    fn drop(&mut self) {
        if !self.granted {
            self.memory.shared.with(&self.claim.name, |lock, now| lock.leave_queue(self.claim.id, now));
        }
    }
}

#[async_trait]
impl Backend for Memory {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        if until == Until::Now {
            return self.request(claim, |lock, now| lock.take(claim, now)).map(Acquired::from);
        }
        self.wait(claim, until).await.map(Acquired::from)
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let extend = |grant: &&Grant| {
            let before = self.own_time();
            let (left, as_of) = self.shared.with(&grant.claim.name, |lock, now| {
                (lock.extend(grant.claim.id, ttl, now), before.unwrap_or(now.at))
            });
            Ok(left.map_or_else(Extension::Lost, |ttl| Extension::Extended { as_of, ttl: Some(ttl) }))
        };
        grants.iter().map(extend).collect()
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let released = self.shared.with(&claim.name, |lock, now| lock.release(claim.id, leave, now));
        if matches!(released, Release::Freed) {
            self.shared.freed.notify_waiters();
        }
        Ok(released)
    }

    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        let shared = self.request(&grant.claim, |lock, now| Ok(lock.downgrade(grant.claim.id, now)))?;
        shared.ok_or_else(|| Error::not_ours(grant.claim.id).with_name(&grant.claim.name))
    }

    async fn adopt(&self, from: &Claim, to: &Claim) -> Result<Option<Grant>> {
        self.request(to, |lock, now| Ok(lock.adopt(from.id, to, now)))
    }

    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        self.shared.with(name, |lock, now| lock.set_limit(of, now));
        Ok(())
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        let now = self.shared.now();
        Ok(Some(self.shared.time().wall_at(now.at)))
    }

    async fn close(&self) {}

    fn notes(&self) -> Option<&dyn Notes> {
        Some(self)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }

    fn member(&self) -> Option<&dyn Member> {
        Some(self)
    }
}

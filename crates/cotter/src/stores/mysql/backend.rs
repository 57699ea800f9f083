//! The contract.

use super::bells::Bells;
use super::connector::Link;
use super::connector::Pool;
use super::live::Live;
use super::rows::{self, Changed};
use super::state::{self, Lock};
use super::waiting::QueueEntry;
use super::{SCHEME, Shared, attempt, doctor};
use crate::backend::poll;
use crate::backend::{
    Acquired, Admin, Backend, Capabilities, Claim, ClaimId, Extension, Grant, Info, Leave, Notes, Release,
    Until,
};
use crate::stores::shared::lock_state::{Held, Now};
use crate::stores::shared::sql::{FORGET_PERIOD, grant};
use crate::{Error, Moment, Name, Result};
use async_trait::async_trait;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

/// The connections to a database, of one runtime.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) pool: Pool,
    /// The connection that is always there.
    pub(super) link: Arc<Link>,
    pub(super) shared: Arc<Shared>,
    pub(super) bells: Arc<Bells>,
    info: Info,
}

/// A shorter lease could end before its holder has read the answer.
const MIN_TTL: Duration = Duration::from_millis(20);

impl Lease {
    pub(super) fn new(pool: Pool, shared: Arc<Shared>) -> Self {
        let link = pool.first().clone();
        let mut info = Info::new(SCHEME, &shared.options.instance);
        info.place.clone_from(&shared.options.prefix);
        info.capabilities =
            Capabilities { per_runtime: true, in_line: true, ..Capabilities::complete(MIN_TTL) };
        let bells = Bells::new(&shared.servers, &link);
        Self { pool, link, shared, bells, info }
    }

    pub(super) fn now(&self) -> Moment {
        self.link.now()
    }

    /// Makes a request after which no other claim holds more than before.
    pub(super) async fn attempt<T, F: Future<Output = Result<T>>>(
        &self,
        link: &Link,
        ask: impl Fn(Arc<Live>) -> F,
    ) -> Result<T> {
        attempt::attempt(link, ask).await
    }

    /// Makes a request after which this claim may hold something.
    pub(super) async fn for_claim<T, F: Future<Output = Result<T>>>(
        &self,
        id: ClaimId,
        ask: impl Fn(Arc<Live>) -> F,
    ) -> Result<T> {
        attempt::for_claim(&self.pool, &self.shared.in_flight, id, ask).await
    }

    /// Changes a lock in one step, after which no other claim holds it than before.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        name: &Name,
        work: impl FnMut(&mut Lock, Now) -> Result<T> + Clone + Send + 'static,
    ) -> Result<Changed<T>> {
        let answer = self.attempt(&self.link, |live| {
            let work = work.clone();
            async move { self.change_on(&live, name, work).await }
        });
        answer.await.map_err(|e| e.with_name(name))
    }

    /// A step after which this claim may hold the name.
    pub(super) async fn take<T: Send + 'static>(
        &self,
        claim: &Claim,
        mut work: impl FnMut(&mut Lock, Now) -> Result<(Option<Held>, T)> + Clone + Send + 'static,
    ) -> Result<Changed<(Option<Held>, T)>> {
        let work = move |lock: &mut Lock, now| {
            let done = work(lock, now)?;
            let is_alone = lock.holders.len() == 1 && lock.queue.is_empty() && lock.evicted.is_empty();
            Ok((done, is_alone))
        };
        let answer = self.for_claim(claim.id, |live| {
            let work = work.clone();
            async move { self.change_on(&live, &claim.name, work).await }
        });
        let Changed { done: (done, is_alone), now, as_of } =
            answer.await.map_err(|e| e.with_name(&claim.name))?;
        done.0.iter().filter(|_| is_alone).for_each(|held| self.shared.recent.held(held));
        Ok(Changed { done, now, as_of })
    }

    async fn change_on<T: Send + 'static>(
        &self,
        live: &Live,
        name: &Name,
        work: impl FnMut(&mut Lock, Now) -> Result<T> + Send + 'static,
    ) -> Result<Changed<T>> {
        let (servers, name) = (self.shared.servers.clone(), name.clone());
        live.run(move |session| {
            Box::pin(async move { rows::change(session, &servers.tables, &name, work).await })
        })
        .await
    }

    /// A step that may end with a grant for the claim.
    pub(super) async fn request(
        &self,
        claim: &Claim,
        work: impl Fn(&mut Lock, &Claim, Now) -> Result<Option<Held>> + Clone + Send + 'static,
    ) -> Result<Option<Grant>> {
        let owned = claim.clone();
        let taken = self.take(claim, move |lock, now| Ok((work(lock, &owned, now)?, ()))).await?;
        let Changed { done: (held, ()), now, as_of } = taken;
        Ok(held.map(|held| grant(held, now, as_of)))
    }

    /// Deletes rows of unused names now and then.
    async fn forget_unused(&self) {
        if self.shared.releases.fetch_add(1, Ordering::Relaxed) % FORGET_PERIOD != FORGET_PERIOD - 1 {
            return;
        }
        let Ok(live) = self.link.live().await else { return };
        let servers = self.shared.servers.clone();
        // Somebody else will do it if this fails.
        let _ = live
            .run(move |session| Box::pin(async move { rows::forget_unused(session, &servers.tables).await }))
            .await;
    }
}

#[async_trait]
impl Backend for Lease {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        claim.mode.check()?;
        match until {
            Until::Now | Until::InLine => match self.take_free(claim).await? {
                Some(grant) => Ok(Acquired::from(Some(grant))),
                None if until == Until::InLine => Box::pin(self.try_or_join(claim)).await,
                None => self.request(claim, Lock::take).await.map(Acquired::from),
            },
            // Boxed, or the future of every acquisition would have room for it.
            _ => {
                let entry = QueueEntry::new(self, claim);
                Box::pin(poll::in_queue(self, &**self.link.clock(), claim, until, entry)).await
            }
        }
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        self.extend_all(grants, ttl).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let (id, in_flight) = (claim.id, &self.shared.in_flight);
        self.shared.queued.take(id);
        let known = &self.shared.recent.take_held(claim);
        let released = self.attempt(self.pool.of(id), |live| async move {
            // A request never arrives behind its release on the connection that carried it. One that may still be under way on
            // another one finds another token than it has read, and changes nothing.
            let fence = in_flight.is_elsewhere(id, live.number);
            if let Some(held) = known.clone().filter(|_| !fence && leave.keep_for.is_none())
                && self.free_alone(&live, claim, held, leave).await?
            {
                return Ok(Release::Freed);
            }
            let release = move |lock: &mut Lock, now| {
                let released = lock.release(id, leave, now);
                if fence {
                    lock.fence(now);
                }
                Ok((released, lock.is_unused().then_some(lock.last)))
            };
            let (released, free) = self.change_on(&live, &claim.name, release).await?.done;
            free.into_iter().for_each(|last| self.shared.recent.freed(&claim.name, last));
            Ok(released)
        });
        let released = released.await.map_err(|e| e.with_name(&claim.name))?;
        in_flight.settled(id);
        // Now that the row is free, the next waiter may come.
        self.shared.kept.let_go(id);
        self.forget_unused().await;
        Ok(released)
    }

    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        let shared = self.request(&grant.claim, |lock, claim, now| Ok(lock.downgrade(claim.id, now))).await?;
        let missing = || Error::not_ours(grant.claim.id).with_backend(SCHEME).with_name(&grant.claim.name);
        shared.ok_or_else(missing)
    }

    async fn adopt(&self, from: &Claim, to: &Claim) -> Result<Option<Grant>> {
        let from = from.id;
        self.request(to, move |lock, to, now| Ok(lock.adopt(from, to, now))).await
    }

    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        let set = move |lock: &mut Lock, now| {
            lock.set_limit(of, now);
            Ok(())
        };
        self.change(name, set).await.map(drop)
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        doctor::server_time(&self.link).await.map(|now| Some(state::wall(now)))
    }

    async fn close(&self) {
        if self.bells.has_any() {
            self.bells.close();
            self.shared.kept.clear();
            self.bells.farewell().await;
        }
        self.pool.close();
        self.link.connector.farewell().await;
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(self)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }
}

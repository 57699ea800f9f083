//! The contract.

use super::connection::Connection;
use super::errors::{no_boot_id, replaced};
use super::options::Options;
use super::rows::{self, Times};
use super::state::Lock;
use super::waiting::Waiting;
use crate::backend::{
    Acquired, Admin, Backend, Capabilities, Claim, Extension, Grant, Info, Leave, Notes, Release, Until, poll,
};
use crate::stores::shared::lock_state::{Held, Now};
use crate::stores::shared::sql::{FORGET_PERIOD, grant};
use crate::sys::clock::boot_id;
use crate::sys::watch::Watcher;
use crate::{Clock, Error, LossCause, Name, Result};
use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

/// The connection of one client.
#[derive(Debug)]
pub(super) struct Sqlite {
    pub(super) connection: Connection,
    pub(super) times: Times,
    pub(super) path: PathBuf,
    info: Info,
    watcher: OnceLock<Option<Arc<Watcher>>>,
    releases: AtomicU32,
}

/// A shorter lease could end before its holder has read the answer.
const MIN_TTL: Duration = Duration::from_millis(20);

/// So many leases are extended before other jobs have their turn.
const BATCH: usize = 64;

impl Sqlite {
    pub(super) fn new(connection: Connection, clock: Arc<dyn Clock>, options: &Options) -> Result<Self> {
        let mut info = Info::new(super::SCHEME, options.path.display().to_string());
        info.capabilities = Capabilities::complete(MIN_TTL);
        let times = Times::new(clock, boot_id().ok_or_else(no_boot_id)?);
        let path = options.path.clone();
        Ok(Self { connection, times, path, info, watcher: OnceLock::new(), releases: AtomicU32::new(0) })
    }

    /// Changes the lock of a name in one step, on the thread.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        name: &Name,
        work: impl FnMut(&mut Lock, Now) -> Result<T> + Send + 'static,
    ) -> Result<(T, Now)> {
        let (times, name) = (self.times.clone(), name.clone());
        self.connection.run(move |connection| rows::change(connection, &times, &name, work)).await
    }

    /// A step that may end with a grant for the claim.
    async fn request(
        &self,
        claim: &Claim,
        work: impl Fn(&mut Lock, &Claim, Now) -> Result<Option<Held>> + Send + 'static,
    ) -> Result<Option<Grant>> {
        let owned = claim.clone();
        let (held, now) = self.change(&claim.name, move |lock, now| work(lock, &owned, now)).await?;
        Ok(held.map(|held| grant(held, now, now.at)))
    }

    /// The events of the database's directory; `None` where the system has none to give.
    pub(super) fn watcher(&self) -> Option<&Arc<Watcher>> {
        self.watcher.get_or_init(|| Watcher::start().ok()).as_ref()
    }
}

#[async_trait]
impl Backend for Sqlite {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        if self.connection.is_replaced() {
            return Err(replaced(&self.path).with_name(&claim.name));
        }
        if until == Until::Now {
            return self.request(claim, Lock::take).await.map(Acquired::from);
        }
        poll::in_queue(self, &*self.times.clock, claim, until, Waiting::new(self, claim)).await
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        if self.connection.is_replaced() {
            return grants.iter().map(|_| Ok(Extension::Lost(LossCause::Gone))).collect();
        }
        let mut all = Vec::with_capacity(grants.len());
        for batch in grants.chunks(BATCH) {
            let claims: Vec<_> = batch.iter().map(|g| (g.claim.name.clone(), g.claim.id)).collect();
            let (times, count) = (self.times.clone(), claims.len());
            let extended = self.connection.run(move |connection| {
                let extend =
                    |(name, id)| rows::change(connection, &times, &name, |l, now| Ok(l.extend(id, ttl, now)));
                Ok(claims.into_iter().map(extend).collect::<Vec<_>>())
            });
            match extended.await {
                Ok(answers) => all.extend(answers.into_iter().map(|answer| answer.map(extension))),
                Err(e) => all.extend(std::iter::repeat_n(e, count).map(Err)),
            }
        }
        all
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let id = claim.id;
        let (released, _) =
            self.change(&claim.name, move |lock, now| Ok(lock.release(id, leave, now))).await?;
        if self.releases.fetch_add(1, Ordering::Relaxed) % FORGET_PERIOD == FORGET_PERIOD - 1 {
            let times = self.times.clone();
            // Somebody else will do it if this fails.
            let _ = self.connection.run(move |connection| rows::forget_unused(connection, &times)).await;
        }
        Ok(released)
    }

    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        let shared = self.request(&grant.claim, |lock, claim, now| Ok(lock.downgrade(claim.id, now))).await?;
        shared.ok_or_else(|| Error::not_ours(grant.claim.id).with_name(&grant.claim.name))
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
        Ok(Some(self.times.clock.wall()))
    }

    async fn close(&self) {
        if let Some(Some(watcher)) = self.watcher.get() {
            watcher.end();
        }
        self.connection.close().await;
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(self)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }
}

fn extension((left, now): (Result<Duration, LossCause>, Now)) -> Extension {
    left.map_or_else(Extension::Lost, |ttl| Extension::Extended { as_of: now.at, ttl: Some(ttl) })
}

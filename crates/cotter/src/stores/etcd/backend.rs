//! The contract.

use super::SCHEME;
use super::acquire::{Ahead, Entry, Standing};
use super::connection::Link;
use super::connector::Cluster;
use super::doubts::Doubts;
use super::errors::{Failure, place_is_gone};
use super::key_pool::KeyPool;
use super::leases::Leases;
use super::messages::{RangeRequest, RangeResponse, TxnRequest, TxnResponse};
use super::names::Keys;
use super::options::{Dialect, Options};
use super::requests::{TXN, delete, look, put};
use super::seats::Seats;
use super::waiting::Waiting;
use super::watches::Watches;
use crate::backend::flight::Flights;
use crate::backend::{
    Acquired, Admin, Backend, Capabilities, Claim, ClaimId, Extension, Grant, Host, Info, Leave, Mode, Notes,
    Release, Until, poll,
};
use crate::stores::shared::queued::Queued;
use crate::{Error, ErrorKind, Name, Result};
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A client of a cluster.
pub(super) struct Etcd {
    pub(super) inner: Arc<Inner>,
    info: Info,
}

/// The state that its requests share.
pub(super) struct Inner {
    pub(super) link: Arc<Link>,
    pub(super) keys: Arc<Keys>,
    pub(super) leases: Arc<Leases>,
    pub(super) watches: Arc<Watches>,
    pub(super) seats: Seats,
    pub(super) doubts: Doubts,
    pub(super) key_pool: KeyPool,
    /// What has happened since is seen after the watch is confirmed. Another put would be written by a majority, also when its
    /// condition fails.
    pub(super) queued: Queued<(Entry, Ahead)>,
    /// Requests that enter a queue. The requests of one connection are not ordered, so a release first lets them land.
    pub(super) calls: Flights<Standing>,
}

/// A server makes shorter leases longer.
const MIN_TTL: Duration = Duration::from_secs(2);

impl Etcd {
    pub(super) async fn open(cluster: &Cluster, options: &Options, host: &Host) -> Result<Self> {
        let link = Arc::new(Link::new(cluster.clone(), options, host));
        link.live().await?;
        let mut info = Info::new(SCHEME, &options.instance);
        info.variant = options.dialect.variant();
        info.place.clone_from(&options.prefix);
        info.names_are_given = options.dialect == Dialect::Concurrency;
        info.capabilities = Capabilities {
            leases: true,
            shared_session: true,
            ordered: true,
            names: true,
            distinct: true,
            in_line: true,
            records: true,
            shared: options.dialect == Dialect::Own,
            permits: options.dialect == Dialect::Own,
            notes: true,
            swap: true,
            min_ttl: MIN_TTL,
            ttl_step: Duration::from_secs(1),
            ..Capabilities::default()
        };
        let keys = Arc::new(Keys::new(options));
        let inner = Inner {
            leases: Arc::new(Leases::new(link.clone(), keys.clone())),
            watches: Arc::new(Watches::new(link.clone())),
            seats: Seats::default(),
            doubts: Doubts::default(),
            key_pool: KeyPool::default(),
            queued: Queued::default(),
            calls: Flights::default(),
            keys,
            link,
        };
        Ok(Self { inner: Arc::new(inner), info })
    }

    async fn wait(&self, claim: &Claim, until: Until, mut waiting: Waiting<'_>) -> Result<Acquired> {
        let clock = self.inner.link.host().clock().clone();
        let ended = poll::until(&*clock, until, &mut waiting).await;
        drop(waiting);
        match ended {
            Ok(Some(grant)) => return Ok(Acquired::Granted(grant)),
            // It would never be served, and holds up those behind it.
            Err(e) if e.kind() != ErrorKind::LimitMismatch => return Err(e),
            Ok(None) | Err(_) => _ = self.inner.remove(claim).await.map_err(Error::with_outcome_unknown)?,
        }
        ended.map(|_| Acquired::Busy)
    }
}

impl Inner {
    /// The key of a claim's entry.
    pub(super) fn entry(&self, claim: &Claim) -> Vec<u8> {
        self.keys.entry(claim, self.key_pool.of(claim.id))
    }

    /// The key that says that a claim was evicted.
    pub(super) fn mark(&self, id: ClaimId) -> Vec<u8> {
        self.keys.evicted(self.key_pool.of(id))
    }

    /// The description of a claim in its entry.
    pub(super) fn value(&self, claim: &Claim) -> String {
        claim.label.to_string()
    }

    /// Removes the entry of a claim.
    pub(super) async fn remove(&self, claim: &Claim) -> Result<Release> {
        let _ = self.calls.land(claim.id).await;
        self.queued.take(claim.id);
        let (key, is_settled) = (self.key_pool.leave(claim.id), self.doubts.of(claim.id).is_none());
        let (entry, mark) = (self.keys.entry(claim, key), self.keys.evicted(key));
        let mut freed = false;
        while let Some(lease) = self.doubts.of(claim.id) {
            freed |= self.end_doubts(claim, entry.clone(), lease).await?;
            self.doubts.settled(claim.id, lease);
        }
        let removal = vec![delete(entry), delete(mark)];
        let answer: TxnResponse = self.link.ask(TXN, TxnRequest::of(removal)).await?;
        self.seats.leave(claim.id);
        self.key_pool.left(claim.id, is_settled);
        Ok(match (freed || answer.deleted(0) > 0, answer.deleted(1) > 0) {
            (true, _) => Release::Freed,
            (false, true) => Release::Evicted,
            (false, false) => Release::NotHeld,
        })
    }

    /// Makes sure that no put of the lease that was sent before is carried out any more.
    async fn end_doubts(&self, claim: &Claim, entry: Vec<u8>, lease: i64) -> Result<bool> {
        let doubt = self.keys.doubt(lease);
        let operations =
            vec![delete(entry), put(doubt.clone(), claim.id.to_string().as_bytes(), lease), look(doubt)];
        let answer: Result<TxnResponse, Failure> = self.link.ask(TXN, TxnRequest::of(operations)).await;
        match answer {
            Ok(answer) => {
                let times = answer.found(2).first().map_or(0, |kv| kv.version);
                self.leases.doubted(lease, times);
                Ok(answer.deleted(0) > 0)
            }
            // A put with a lease that has ended is refused, whenever it arrives.
            Err(failure) if failure.is_lease_not_found() => Ok(false),
            Err(failure) => Err(failure.into()),
        }
    }
}

#[async_trait]
impl Backend for Etcd {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        let named = |e: Error| e.with_name(&claim.name);
        self.info.supports(claim.mode).map_err(named)?;
        let inner = &self.inner;
        let queued = inner.queued.take(claim.id).filter(|_| !matches!(until, Until::Now | Until::InLine));
        if let Some((own, ahead)) = queued {
            return self.wait(claim, until, Waiting::behind(inner, claim, own, ahead)).await.map_err(named);
        }
        let entering = inner.clone().enter(claim.clone(), until);
        let entered = inner.calls.call(claim.id, entering).await;
        if entered.as_ref().is_err_and(|e| e.kind() == ErrorKind::LimitMismatch) {
            inner.remove(claim).await.map_err(|e| named(e.with_outcome_unknown()))?;
        }
        let answer = match entered.map_err(named)? {
            Standing::Holds(entry) => inner.grant(claim, entry).await.map(Acquired::Granted),
            Standing::Refused => Ok(Acquired::Busy),
            Standing::Gone => Err(place_is_gone()),
            Standing::Behind(own, ahead) if until == Until::InLine => {
                inner.queued.keep(claim.id, (own, ahead));
                Ok(Acquired::Queued)
            }
            Standing::Behind(own, ahead) => {
                self.wait(claim, until, Waiting::behind(inner, claim, own, ahead)).await
            }
        };
        answer.map_err(named)
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        self.inner.extend(grants, ttl).await
    }

    async fn release(&self, claim: &Claim, _: Leave) -> Result<Release> {
        self.inner.remove(claim).await.map_err(|e| e.with_name(&claim.name))
    }

    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        self.info.supports(Mode::Permits { take: 1, of }).map_err(|e| e.with_name(name))?;
        self.inner.set_limit(name, of).await.map_err(|e| e.with_name(name))
    }

    /// The server does not tell its time. It is asked for something that only a majority can answer.
    async fn time(&self) -> Result<Option<SystemTime>> {
        let question =
            RangeRequest { key: self.inner.keys.doubt(0), keys_only: true, ..RangeRequest::default() };
        let _: RangeResponse = self.inner.link.ask("/etcdserverpb.KV/Range", question).await?;
        Ok(None)
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(self)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }

    async fn close(&self) {
        self.inner.seats.clear();
        self.inner.queued.clear();
        self.inner.key_pool.clear();
        self.inner.leases.end().await;
        self.inner.watches.end();
        self.inner.link.close();
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.inner.link.close();
    }
}

impl fmt::Debug for Etcd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Etcd").field("info", &self.info).finish_non_exhaustive()
    }
}

//! The contract for both older protocols.

use crate::backend::pace::{Pauses, Rests};
pub(super) use crate::backend::retry::Tried;
use crate::backend::retry::{self, Contend};
use crate::backend::{
    Acquired, Admin, Backend, Capabilities, Claim, Eviction, Extension, Grant, Holder, Info, Leave, Member,
    Release, Until,
};
use crate::stores::redis::batch::extend_all;
use crate::stores::redis::connection::Link;
use crate::stores::redis::errors::unexpected;
use crate::stores::redis::{SCHEME, Shared, doctor};
use crate::{Clock, Moment, Name, Result};
use async_trait::async_trait;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The steps in which the older protocols differ.
pub(in crate::stores::redis) trait Steps: Debug + Send + Sync + 'static {
    /// The value of `mode=` in a URL.
    const MODE: &'static str;
    /// The store's name in errors.
    const VARIANT: &'static str;
    /// The pause between two attempts of a long wait, unless the URL says otherwise.
    const RETRY: Duration;
    /// The shortest lease.
    const MIN_TTL: Duration;

    fn new(link: Arc<Link>, shared: Arc<Shared>) -> Self;

    fn link(&self) -> &Arc<Link>;

    fn shared(&self) -> &Shared;

    /// Adds the protocol's own properties to the description of the store.
    fn describe(_: &mut Info) {}

    /// Tries to acquire the lock once.
    fn try_once(&self, claim: &Claim) -> impl Future<Output = Result<Tried>> + Send;

    /// A number that identifies the holder, without an attempt to acquire the lock; `None` if the lock is free.
    fn holder(&self, claim: &Claim) -> impl Future<Output = Result<Option<u64>>> + Send;

    /// Extends grants with one script.
    fn extend(
        &self,
        grants: &[&Grant],
        ttl: Duration,
    ) -> impl Future<Output = Result<Vec<Result<Extension>>>> + Send;

    fn release(&self, claim: &Claim, leave: Leave) -> impl Future<Output = Result<Release>> + Send;

    /// The connection as a member of a quorum.
    fn member(_: &Older<Self>) -> Option<&dyn Member>
    where
        Self: Sized,
    {
        None
    }

    /// The holder as it can be shown.
    fn inspect(&self, name: &Name) -> impl Future<Output = Result<Option<Holder>>> + Send;

    /// Evicts the holder, at once or when its lease ends.
    fn evict(&self, name: &Name, at_once: bool) -> impl Future<Output = Result<Eviction>> + Send;
}

/// A connection that speaks an older protocol.
#[derive(Debug)]
pub(in crate::stores::redis) struct Older<P> {
    pub(super) steps: P,
    info: Info,
    pauses: Pauses,
}

impl<P: Steps> Older<P> {
    pub(in crate::stores::redis) fn new(link: Arc<Link>, shared: Arc<Shared>) -> Self {
        let options = &shared.options;
        let instance = format!("{} ({}: tokens order only cotter's own grants)", options.instance, P::MODE);
        let mut info = Info::new(SCHEME, instance);
        info.variant = P::VARIANT;
        info.capabilities = Capabilities {
            leases: true,
            names: true,
            distinct: options.request_id.is_none(),
            per_runtime: true,
            keep_for: true,
            min_ttl: P::MIN_TTL,
            ..Capabilities::default()
        };
        info.names_are_given = true;
        P::describe(&mut info);
        let pauses = Pauses::up_to(options.retry.unwrap_or(P::RETRY));
        Self { steps: P::new(link, shared), info, pauses }
    }

    async fn extend_batch(&self, batch: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let named = |(answer, grant): (Result<Extension>, &&Grant)| {
            answer.map_err(|e| e.with_name(&grant.claim.name))
        };
        match self.steps.extend(batch, ttl).await {
            Ok(answers) if answers.len() == batch.len() => {
                answers.into_iter().zip(batch).map(named).collect()
            }
            Ok(_) => vec![Err(unexpected("too few extensions")); batch.len()],
            Err(e) => batch.iter().map(|grant| Err(e.clone().with_name(&grant.claim.name))).collect(),
        }
    }
}

impl<P: Steps> Contend for Older<P> {
    fn clock(&self) -> &dyn Clock {
        &**self.steps.link().clock()
    }

    fn rests(&self) -> &Rests {
        &self.steps.shared().issued.rests
    }

    async fn try_once(&self, claim: &Claim) -> Result<Tried> {
        self.steps.try_once(claim).await
    }

    async fn holder(&self, claim: &Claim) -> Result<Option<u64>> {
        self.steps.holder(claim).await
    }
}

#[async_trait]
impl<P: Steps> Backend for Older<P> {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        self.info.supports(claim.mode)?;
        match until.moment() {
            None => self.steps.try_once(claim).await.map(|tried| tried.granted().into()),
            // Boxed, or the future of a single attempt would have room for it.
            Some(_) => Box::pin(retry::acquire(self, self.pauses, claim, until)).await.map(Acquired::from),
        }
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        if let Some(refusal) = self.steps.shared().refuses(ttl) {
            return grants.iter().map(|grant| Err(refusal.clone().with_name(&grant.claim.name))).collect();
        }
        extend_all(grants, |batch| self.extend_batch(batch, ttl)).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        self.steps.release(claim, leave).await
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        doctor::time(self.steps.link()).await.map(|(now, _)| Some(now))
    }

    async fn close(&self) {
        self.steps.link().close();
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }

    fn member(&self) -> Option<&dyn Member> {
        self.steps.shared().options.votes.and_then(|_| P::member(self))
    }
}

/// A block of tokens and a lease as a grant.
pub(super) fn grant(claim: &Claim, (number, turns): (u64, u16), as_of: Moment, ttl: Duration) -> Grant {
    Grant { turns, ttl: Some(ttl), ..Grant::new(claim.clone(), number, as_of) }
}

/// The longest time in milliseconds that is sent: a hundred years. The server refuses an expiry that does not fit into its
/// own arithmetic, and a release that keeps the name would then fail.
const MAX_MILLIS: u128 = 100 * 366 * 86_400 * 1000;

/// A duration in milliseconds, rounded up; never 0.
pub(in crate::stores::redis) fn millis(d: Duration) -> u64 {
    d.as_nanos().div_ceil(1_000_000).clamp(1, MAX_MILLIS) as u64
}

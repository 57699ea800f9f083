//! A store of which one thing is altered: everything else is passed on.

use async_trait::async_trait;
use cotter::backend::{
    Acquired, Admin, Backend, Claim, Connect, Extension, Grant, Host, Info, Leave, Member, Notes, Release,
    Until,
};
use cotter::{Name, Result};
use std::fmt::Debug;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// What is altered; by default, nothing.
pub trait Alteration: Debug + Send + Sync + 'static {
    /// The time that the store answers, instead of this one.
    fn time(&self, time: SystemTime) -> Option<SystemTime> {
        Some(time)
    }

    /// How long a grant lasts according to the store, instead of this long.
    fn lasts(&self, ttl: Duration) -> Duration {
        ttl
    }

    /// The answer to a claim, instead of this one.
    fn acquired(&self, _: &Claim, answer: Acquired) -> Acquired {
        answer
    }

    /// The answer to an adoption, instead of this one.
    fn adopted(&self, answer: Result<Option<Grant>>) -> Result<Option<Grant>> {
        answer
    }

    /// Changes what the store says of itself.
    fn info(&self, _: &mut Info) {}

    /// The notes of the store, instead of those of `inner`.
    fn notes<'a>(&'a self, inner: &'a dyn Backend) -> Option<&'a dyn Notes> {
        inner.notes()
    }
}

/// Connects to another store, of which one thing is altered.
#[derive(Debug, Clone)]
pub struct AlteredStore<A> {
    inner: Arc<dyn Connect>,
    alteration: A,
}

impl<A> AlteredStore<A> {
    pub(crate) fn of(inner: impl Connect, alteration: A) -> Self {
        Self { inner: Arc::new(inner), alteration }
    }
}

#[async_trait]
impl<A: Alteration + Clone> Connect for AlteredStore<A> {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        Ok(Arc::new(Altered::new(self.inner.connect(host).await?, self.alteration.clone())))
    }
}

/// A connection to the other store.
#[derive(Debug)]
pub(crate) struct Altered<A> {
    inner: Arc<dyn Backend>,
    info: Info,
    alteration: A,
}

impl<A: Alteration> Altered<A> {
    pub(crate) fn new(inner: Arc<dyn Backend>, alteration: A) -> Self {
        let mut info = inner.info().clone();
        alteration.info(&mut info);
        Self { inner, info, alteration }
    }

    fn grant(&self, mut grant: Grant) -> Grant {
        grant.ttl = grant.ttl.map(|ttl| self.alteration.lasts(ttl));
        grant
    }

    fn extension(&self, extension: Extension) -> Extension {
        match extension {
            Extension::Extended { as_of, ttl, .. } => {
                Extension::extended(as_of, ttl.map(|ttl| self.alteration.lasts(ttl)))
            }
            other => other,
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<A: Alteration> Backend for Altered<A> {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        let answer = match self.inner.acquire(claim, until).await? {
            Acquired::Granted(grant) => Acquired::Granted(self.grant(grant)),
            other => other,
        };
        Ok(self.alteration.acquired(claim, answer))
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let answers = self.inner.extend(grants, ttl).await;
        answers.into_iter().map(|answer| answer.map(|extension| self.extension(extension))).collect()
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        self.inner.release(claim, leave).await
    }

    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        self.inner.downgrade(grant).await.map(|grant| self.grant(grant))
    }

    async fn adopt(&self, from: &Claim, to: &Claim) -> Result<Option<Grant>> {
        let adopted = self.inner.adopt(from, to).await.map(|grant| grant.map(|grant| self.grant(grant)));
        self.alteration.adopted(adopted)
    }

    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        self.inner.set_limit(name, of).await
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        Ok(self.inner.time().await?.and_then(|time| self.alteration.time(time)))
    }

    async fn close(&self) {
        self.inner.close().await;
    }

    fn notes(&self) -> Option<&dyn Notes> {
        self.alteration.notes(&*self.inner)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        self.inner.admin()
    }

    fn member(&self) -> Option<&dyn Member> {
        self.inner.member()
    }

    fn descriptors(&self, grant: &Grant) -> std::io::Result<Vec<OwnedFd>> {
        self.inner.descriptors(grant)
    }
}

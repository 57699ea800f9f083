//! The contract, with faults.

use super::faults::{Call, Fate, Faults};
use async_trait::async_trait;
use cotter::backend::{
    Acceptor, Acquired, Admin, Backend, Claim, Cursor, EvictOrder, Extension, Grant, Info, Leave, Member,
    NoteAt, Notes, Page, PruneOrder, PrunePage, Release, Until, Vote,
};
use cotter::clock::Clock;
use cotter::{Error, ErrorKind, Eviction, Filter, Finding, Name, Note, Result};
use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::runtime::Handle;

#[derive(Debug)]
pub(super) struct FaultyBackend {
    pub(super) inner: Arc<dyn Backend>,
    pub(super) faults: Faults,
    pub(super) clock: Arc<dyn Clock>,
    info: Info,
    /// Where late requests live: the caller's runtime may be gone by then.
    runtime: Handle,
}

impl FaultyBackend {
    pub(super) fn new(inner: Arc<dyn Backend>, faults: Faults, clock: Arc<dyn Clock>) -> Self {
        let mut info = inner.info().clone();
        info.capabilities.immediate = false;
        Self { inner, faults, clock, info, runtime: Handle::current() }
    }

    pub(super) async fn begin(&self, call: Call) -> Result<Fate> {
        self.faults.begin(call, &*self.clock).await
    }

    /// One call that is carried out, whatever its caller gets to know.
    pub(super) async fn pass<T>(
        &self,
        call: Call,
        work: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        let fate = self.begin(call).await?;
        let answer = work.await;
        self.faults.end(call, &*self.clock).await;
        if fate == Fate::Through { answer } else { Err(unknown()) }
    }

    pub(super) fn later<F>(&self, after: Duration, work: impl FnOnce(Arc<dyn Backend>) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send,
    {
        let (inner, wake) = (self.inner.clone(), self.clock.now() + after);
        let sleep = self.clock.sleep_until(wake);
        self.runtime.spawn(async move {
            sleep.await;
            work(inner).await;
        });
    }

    fn inner_notes(&self) -> &dyn Notes {
        self.inner.notes().expect("asked for only where there are some")
    }

    pub(super) fn inner_member(&self) -> &dyn Member {
        self.inner.member().expect("asked for only where it is one")
    }

    fn inner_admin(&self) -> &dyn Admin {
        self.inner.admin().expect("asked for only where there is one")
    }
}

pub(super) fn unknown() -> Error {
    let error = Error::new(ErrorKind::Unavailable, "the reply was made to be lost");
    error.with_backend("faulty").with_outcome_unknown()
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for FaultyBackend {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        let fate = self.begin(Call::Acquire).await?;
        if let Fate::Late(by) = fate {
            let claim = claim.clone();
            self.later(self.faults.lateness(by, claim.ttl), async move |inner| {
                drop(inner.acquire(&claim, Until::Now).await)
            });
            return Err(unknown());
        }
        let answer = self.inner.acquire(claim, until).await;
        self.faults.end(Call::Acquire, &*self.clock).await;
        if fate == Fate::Through { answer } else { Err(unknown()) }
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        std::thread::sleep(self.faults.freeze());
        let each = |e: Error| grants.iter().map(|_| Err(e.clone())).collect();
        let fate = match self.begin(Call::Extend).await {
            Ok(fate) => fate,
            Err(e) => return each(e),
        };
        let answers = self.inner.extend(grants, ttl).await;
        self.faults.end(Call::Extend, &*self.clock).await;
        if fate == Fate::Through { answers } else { each(unknown()) }
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let fate = self.begin(Call::Release).await?;
        if let Fate::Late(by) = fate {
            let claim = claim.clone();
            self.later(self.faults.lateness(by, claim.ttl), async move |inner| {
                drop(inner.release(&claim, leave).await)
            });
            return Err(unknown());
        }
        let answer = self.inner.release(claim, leave).await;
        self.faults.end(Call::Release, &*self.clock).await;
        if fate == Fate::Through { answer } else { Err(unknown()) }
    }

    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        self.pass(Call::Change, self.inner.downgrade(grant)).await
    }

    async fn adopt(&self, from: &Claim, to: &Claim) -> Result<Option<Grant>> {
        let fate = self.begin(Call::Acquire).await?;
        if let Fate::Late(by) = fate {
            let (from, to) = (from.clone(), to.clone());
            self.later(self.faults.lateness(by, to.ttl), async move |inner| {
                drop(inner.adopt(&from, &to).await)
            });
            return Err(unknown());
        }
        let answer = self.inner.adopt(from, to).await;
        self.faults.end(Call::Acquire, &*self.clock).await;
        if fate == Fate::Through { answer } else { Err(unknown()) }
    }

    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        self.pass(Call::Change, self.inner.set_limit(name, of)).await
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        self.pass(Call::Look, self.inner.time()).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }

    fn notes(&self) -> Option<&dyn Notes> {
        self.inner.notes().map(|_| self as &dyn Notes)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        self.inner.admin().map(|_| self as &dyn Admin)
    }

    fn member(&self) -> Option<&dyn Member> {
        self.inner.member().map(|_| self as &dyn Member)
    }

    fn descriptors(&self, grant: &Grant) -> std::io::Result<Vec<OwnedFd>> {
        self.inner.descriptors(grant)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Notes for FaultyBackend {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        self.pass(Call::Note, self.inner_notes().load(name, key)).await
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        self.pass(Call::Note, self.inner_notes().store(grant, at, bytes)).await
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        self.pass(Call::Note, self.inner_notes().swap(name, key, seen, bytes)).await
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        self.pass(Call::Note, self.inner_notes().changed(name, key, seen, until)).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Admin for FaultyBackend {
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        self.pass(Call::Look, self.inner_admin().list(filter, from)).await
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        self.pass(Call::Look, self.inner_admin().evict(name, order)).await
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        self.pass(Call::Look, self.inner_admin().diagnose()).await
    }

    async fn initialize(&self) -> Result<()> {
        self.pass(Call::Look, self.inner_admin().initialize()).await
    }

    async fn prune(&self, order: &PruneOrder, from: Option<&Cursor>) -> Result<PrunePage> {
        self.pass(Call::Look, self.inner_admin().prune(order, from)).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Member for FaultyBackend {
    fn join(&self, members: usize) -> Result<()> {
        self.inner_member().join(members)
    }

    async fn take(&self, claim: &Claim, at_least: u64) -> Result<Vote> {
        let fate = self.begin(Call::Acquire).await?;
        if let Fate::Late(by) = fate {
            let claim = claim.clone();
            self.later(self.faults.lateness(by, claim.ttl), async move |inner| {
                if let Some(member) = inner.member() {
                    drop(member.take(&claim, at_least).await);
                }
            });
            return Err(unknown());
        }
        let answer = self.inner_member().take(claim, at_least).await;
        self.faults.end(Call::Acquire, &*self.clock).await;
        if fate == Fate::Through { answer } else { Err(unknown()) }
    }

    async fn raise(&self, grant: &Grant, at_least: u64) -> Result<Option<Grant>> {
        self.pass(Call::Raise, self.inner_member().raise(grant, at_least)).await
    }

    fn freed(&self, name: &Name) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.inner_member().freed(name)
    }

    async fn dated(&self, name: &Name, key: &str) -> Result<Option<(Note, u64)>> {
        self.pass(Call::Note, self.inner_member().dated(name, key)).await
    }

    async fn mend(&self, name: &Name, key: &str, note: &Note, sequence: u64) -> Result<()> {
        self.pass(Call::Note, self.inner_member().mend(name, key, note, sequence)).await
    }

    fn acceptor(&self) -> Option<&dyn Acceptor> {
        self.inner_member().acceptor().map(|_| self as &dyn Acceptor)
    }

    async fn identity(&self) -> Result<Option<String>> {
        // Real ones keep it with the connection.
        self.inner_member().identity().await
    }

    async fn abstains(&self) -> Result<Option<Duration>> {
        self.pass(Call::Look, self.inner_member().abstains()).await
    }

    async fn enlist(&self) -> Result<()> {
        self.pass(Call::Look, self.inner_member().enlist()).await
    }
}

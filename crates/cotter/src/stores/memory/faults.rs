//! A store that fails when a test wants it to, so that programs can be tested against outages.

use super::backend::Memory;
use crate::backend::{
    Acquired, Admin, Backend, Capabilities, Claim, Cursor, EvictOrder, Eviction, Extension, Filter, Finding,
    Grant, Info, Leave, Note, NoteAt, Notes, Page, Release, Until,
};
use crate::{Error, ErrorKind, Name, Result};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::watch;

/// What goes wrong between clients and a [`Store`](super::Store), for tests of what a program does about it. Clones control
/// the same store.
///
/// ```
/// # use cotter::{Client, ErrorKind, memory};
/// # use std::time::Duration;
/// # fn main() -> cotter::Result<()> {
/// let faults = memory::Faults::new();
/// let store = memory::Store::with_faults(&faults);
/// let client = Client::builder().give_up(Duration::ZERO).connect_to(store).wait()?;
/// let guard = client.mutex("orders").lock().wait()?;
/// faults.set_down(true);
/// let error = client.mutex("other").try_lock().wait().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Unavailable);
/// assert!(guard.is_valid(), "as long as its lease lasts");
/// faults.set_down(false);
/// guard.finish().wait()?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<watch::Sender<State>>);

#[derive(Debug, Clone, Copy, Default)]
struct State {
    is_down: bool,
    drops_answers: bool,
}

impl Faults {
    /// No faults so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the store is away: every request fails with [`ErrorKind::Unavailable`] and changes nothing, waits end with
    /// that error, and nobody connects. Leases run out meanwhile.
    pub fn set_down(&self, yes: bool) {
        self.0.send_modify(|state| state.is_down = yes);
    }

    /// Sets whether answers are lost: requests are carried out, and fail with [`ErrorKind::Unavailable`] and an
    /// [unknown outcome](Error::outcome_unknown).
    pub fn drop_answers(&self, yes: bool) {
        self.0.send_modify(|state| state.drops_answers = yes);
    }

    /// Fails if the store is away.
    pub(super) fn pass(&self) -> Result<()> {
        if self.0.borrow().is_down { Err(away()) } else { Ok(()) }
    }

    /// Carries out a request, unless the store is away or goes away meanwhile.
    async fn request<T>(&self, request: impl Future<Output = Result<T>>) -> Result<T> {
        self.pass()?;
        let mut changes = self.0.subscribe();
        let answer = tokio::select! {
            biased;
            answer = request => answer,
            _ = changes.wait_for(|state| state.is_down) => Err(away().with_outcome_unknown()),
        };
        if self.0.borrow().drops_answers { Err(lost()) } else { answer }
    }
}

fn away() -> Error {
    Error::new(ErrorKind::Unavailable, "the memory store was set down").with_backend("memory")
}

fn lost() -> Error {
    let lost = Error::new(ErrorKind::Unavailable, "the answer of the memory store was dropped");
    lost.with_backend("memory").with_outcome_unknown()
}

/// A connection that fails when it is told to.
#[derive(Debug)]
pub(super) struct Unreliable {
    inner: Memory,
    faults: Faults,
    info: Info,
}

impl Unreliable {
    pub(super) fn new(inner: Memory, faults: Faults) -> Self {
        let mut info = inner.info().clone();
        info.capabilities = Capabilities { immediate: false, ..info.capabilities };
        Self { inner, faults, info }
    }
}

#[async_trait]
impl Backend for Unreliable {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        self.faults.request(self.inner.acquire(claim, until)).await
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let extended = self.faults.request(async { Ok(self.inner.extend(grants, ttl).await) }).await;
        extended.unwrap_or_else(|e| grants.iter().map(|_| Err(e.clone())).collect())
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        self.faults.request(self.inner.release(claim, leave)).await
    }

    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        self.faults.request(self.inner.downgrade(grant)).await
    }

    async fn adopt(&self, from: &Claim, to: &Claim) -> Result<Option<Grant>> {
        self.faults.request(self.inner.adopt(from, to)).await
    }

    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        self.faults.request(self.inner.set_limit(name, of)).await
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        self.faults.request(self.inner.time()).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(self)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }
}

#[async_trait]
impl Notes for Unreliable {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        self.faults.request(self.inner.load(name, key)).await
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        self.faults.request(self.inner.store(grant, at, bytes)).await
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        self.faults.request(self.inner.swap(name, key, seen, bytes)).await
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        self.faults.request(self.inner.changed(name, key, seen, until)).await
    }
}

#[async_trait]
impl Admin for Unreliable {
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        self.faults.request(self.inner.list(filter, from)).await
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        self.faults.request(self.inner.evict(name, order)).await
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        self.faults.request(self.inner.diagnose()).await
    }
}

//! A store whose clock is not this host's: what a process sees whose time of day is wrong.

use async_trait::async_trait;
use cotter::backend::{
    Acquired, Admin, Backend, Claim, Connect, Extension, Grant, Host, Info, Leave, Member, Notes, Release,
    Until,
};
use cotter::{Name, Result};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

/// How far the store's clock is ahead of what it would show by itself. Cloning gives another handle.
#[derive(Debug, Clone, Default)]
pub struct Skew(Arc<AtomicI64>);

impl Skew {
    /// So many milliseconds ahead, from now on.
    pub fn set_millis(&self, ahead: i64) {
        self.0.store(ahead, Ordering::Relaxed);
    }

    fn apply(&self, time: SystemTime) -> SystemTime {
        let ahead = self.0.load(Ordering::Relaxed);
        let gap = Duration::from_millis(ahead.unsigned_abs());
        if ahead < 0 { time - gap } else { time + gap }
    }
}

/// Connects to another store, and answers with another time.
#[derive(Debug, Clone)]
pub struct Skewed {
    inner: Arc<dyn Connect>,
    skew: Skew,
}

impl Skewed {
    /// This store with its clock moved.
    pub fn new(inner: impl Connect, skew: &Skew) -> Self {
        Self { inner: Arc::new(inner), skew: skew.clone() }
    }
}

#[async_trait]
impl Connect for Skewed {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let inner = self.inner.connect(host).await?;
        Ok(Arc::new(SkewedBackend { inner, skew: self.skew.clone() }))
    }
}

#[derive(Debug)]
struct SkewedBackend {
    inner: Arc<dyn Backend>,
    skew: Skew,
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for SkewedBackend {
    fn info(&self) -> &Info {
        self.inner.info()
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        self.inner.acquire(claim, until).await
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        self.inner.extend(grants, ttl).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        self.inner.release(claim, leave).await
    }

    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        self.inner.downgrade(grant).await
    }

    async fn adopt(&self, from: &Claim, to: &Claim) -> Result<Option<Grant>> {
        self.inner.adopt(from, to).await
    }

    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        self.inner.set_limit(name, of).await
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        Ok(self.inner.time().await?.map(|time| self.skew.apply(time)))
    }

    async fn close(&self) {
        self.inner.close().await;
    }

    fn notes(&self) -> Option<&dyn Notes> {
        self.inner.notes()
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

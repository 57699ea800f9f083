//! `replicas=`: what too few replicas have acknowledged does not count.
//!
//! Every grant, renewal and note is used only when so many replicas have acknowledged it. A grant that they have not is undone
//! and reported as an error; a renewal that they have not leaves the deadline where it is.

use super::acknowledged::Acknowledged;
use super::connection::Link;
use crate::backend::{
    Acquired, Admin, Backend, Claim, Extension, Grant, Info, Leave, Member, Note, NoteAt, Notes, Release,
    Until,
};
use crate::{Error, ErrorKind, Name, Result};
use async_trait::async_trait;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A connection whose writes have to be acknowledged.
#[derive(Debug)]
pub(super) struct Replicated {
    inner: Arc<dyn Backend>,
    /// The link of `inner`.
    link: Arc<Link>,
    acknowledged: Arc<Acknowledged>,
    info: Info,
}

impl Replicated {
    pub(super) fn new(inner: Arc<dyn Backend>, link: Arc<Link>, replicas: u32) -> Self {
        let mut info = inner.info().clone();
        info.instance = format!("{} (replicas={replicas})", info.instance);
        // A quarter of the time for a request, which may have to wait behind two of these.
        let timeout = link.timeout() / 4;
        Self { inner, link, acknowledged: Acknowledged::by(replicas, timeout), info }
    }

    /// Runs a request. If anybody relies on its answer, has it acknowledged on the connection that carried it. If that was
    /// replaced meanwhile, it may lead to another server by now, which says nothing about the first one.
    async fn acknowledge<T>(
        &self,
        request: impl Future<Output = Result<T>>,
        relies_on: impl Fn(&T) -> bool,
    ) -> Result<T> {
        let before = self.link.live().await?.number;
        let answer = request.await?;
        if !relies_on(&answer) {
            return Ok(answer);
        }
        let live = self.link.live().await.map_err(Error::with_outcome_unknown)?;
        if live.number != before {
            return Err(unknown(
                "the connection was replaced before the replicas had acknowledged the write",
            ));
        }
        self.acknowledged.wait(&live).await.map_err(Error::with_outcome_unknown)?;
        Ok(answer)
    }

    /// A grant that came by message may come from another server than the one that the link leads to: asks that one.
    async fn confirm(&self, claim: &Claim) -> Result<Acquired> {
        match self.inner.acquire(claim, Until::Now).await? {
            Acquired::Granted(grant) => Ok(Acquired::Granted(grant)),
            _ => Err(unknown("the server does not know the grant that was reported by message")),
        }
    }

    fn inner_notes(&self) -> Result<&dyn Notes> {
        self.inner.notes().ok_or_else(|| Error::unsupported("notes", self.info.variant))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for Replicated {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        let named = |e: Error| e.with_name(&claim.name);
        let is_granted = |answer: &Acquired| matches!(answer, Acquired::Granted(_));
        if matches!(until, Until::Now | Until::InLine) {
            return self.acknowledge(self.inner.acquire(claim, until), is_granted).await.map_err(named);
        }
        match self.inner.acquire(claim, until).await? {
            Acquired::Granted(_) => self.acknowledge(self.confirm(claim), is_granted).await.map_err(named),
            answer => Ok(answer),
        }
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let request = async { Ok(self.inner.extend(grants, ttl).await) };
        match self.acknowledge(request, |_| true).await {
            Ok(answers) => answers,
            Err(e) => grants.iter().map(|grant| Err(e.clone().with_name(&grant.claim.name))).collect(),
        }
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        self.inner.release(claim, leave).await
    }

    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        self.acknowledge(self.inner.downgrade(grant), |_| true)
            .await
            .map_err(|e| e.with_name(&grant.claim.name))
    }

    async fn adopt(&self, from: &Claim, to: &Claim) -> Result<Option<Grant>> {
        self.acknowledge(self.inner.adopt(from, to), Option::is_some).await.map_err(|e| e.with_name(&to.name))
    }

    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        self.acknowledge(self.inner.set_limit(name, of), |()| true).await.map_err(|e| e.with_name(name))
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        self.inner.time().await
    }

    async fn close(&self) {
        self.inner.close().await;
    }

    fn notes(&self) -> Option<&dyn Notes> {
        self.inner.notes().map(|_| self as &dyn Notes)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        self.inner.admin()
    }

    /// A vote would have to wait for the replicas too.
    fn member(&self) -> Option<&dyn Member> {
        None
    }

    #[cfg(unix)]
    fn descriptors(&self, grant: &Grant) -> std::io::Result<Vec<OwnedFd>> {
        self.inner.descriptors(grant)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Notes for Replicated {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        self.inner_notes()?.load(name, key).await
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let stored = self.inner_notes()?.store(grant, at, bytes);
        self.acknowledge(stored, Option::is_some).await.map_err(|e| e.with_name(&grant.claim.name))
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let swapped = self.inner_notes()?.swap(name, key, seen, bytes);
        self.acknowledge(swapped, Option::is_some).await.map_err(|e| e.with_name(name))
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        self.inner_notes()?.changed(name, key, seen, until).await
    }
}

fn unknown(why: &str) -> Error {
    Error::new(ErrorKind::Unavailable, why).with_backend(super::SCHEME).with_outcome_unknown()
}

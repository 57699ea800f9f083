//! The contract, on a cluster.

use super::router::{Route, Router, unavailable};
use crate::backend::{Acquired, Admin, Backend, Claim, Extension, Grant, Info, Leave, Notes, Release, Until};
use crate::{Name, Result};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

#[async_trait]
impl Backend for Router {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        claim.mode.check()?;
        match until {
            Until::Now | Until::InLine => {
                let request =
                    |route: Arc<Route>| async move { route.way().backend.acquire(claim, until).await };
                self.send(&claim.name, request).await
            }
            _ => Box::pin(self.wait(claim, until)).await,
        }
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        self.extend_all(grants, ttl).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        self.send(&claim.name, |route| async move { route.way().backend.release(claim, leave).await }).await
    }

    async fn adopt(&self, from: &Claim, to: &Claim) -> Result<Option<Grant>> {
        self.send(&to.name, |route| async move { route.way().backend.adopt(from, to).await }).await
    }

    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        let name = &grant.claim.name;
        self.send(name, |route| async move { route.way().backend.downgrade(grant).await }).await
    }

    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        self.send(name, |route| async move { route.way().backend.set_limit(name, of).await }).await
    }

    /// The clock of one of the masters. Any of them that answers shows that the cluster does.
    async fn time(&self) -> Result<Option<SystemTime>> {
        let mut failed = unavailable("no master of the cluster answers");
        let view = self.link.live().await?;
        let (lost, there): (Vec<_>, Vec<_>) = view.nodes.values().partition(|node| node.is_lost());
        for node in there.into_iter().chain(lost) {
            match node.way.backend.time().await {
                Ok(time) => return Ok(time),
                Err(e) => failed = e,
            }
        }
        Err(failed)
    }

    async fn close(&self) {
        self.link.close();
        self.link.connector.nodes.close().await;
    }

    fn notes(&self) -> Option<&dyn Notes> {
        self.info.capabilities.notes.then_some(self)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }
}

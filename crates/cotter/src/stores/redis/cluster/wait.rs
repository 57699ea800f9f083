//! Waiting for a name, wherever it goes meanwhile.

use super::router::{Route, Router, Search};
use crate::backend::{Acquired, Claim, Until};
use crate::{Moment, Name, Result};
use std::sync::Arc;
use std::time::Duration;

/// The time for which nobody may answer for a name without ending the wait: a cluster takes so long to replace a master.
const MAX_FAILURE_TIME: Duration = Duration::from_secs(20);
/// A waiter looks so often whether its master is still there: it hears nothing from one that is not.
const LOOK: Duration = Duration::from_millis(500);

impl Router {
    /// Waits in the queue of a name, or polls. If another master gets the name, asks that one.
    pub(super) async fn wait(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        let request = |route: Arc<Route>| async move { route.way().backend.acquire(claim, until).await };
        self.wait_for(&claim.name, until, request).await
    }

    /// Repeats a request that waits, as long as the wait lasts.
    pub(super) async fn wait_for<T, F: Future<Output = Result<T>>>(
        &self,
        name: &Name,
        until: Until,
        request: impl Fn(Arc<Route>) -> F,
    ) -> Result<T> {
        let last = until.moment().unwrap_or(Moment::ZERO).max(self.now() + self.patience());
        let end = |now: Moment| last.min(now + MAX_FAILURE_TIME);
        let mut search = Search::new(self, name, end(self.now()));
        loop {
            let began = self.now();
            let answer = match search.route().await {
                Err(e) => Err((e, None)),
                Ok(route) => tokio::select! {
                    biased;
                    answer = request(route.clone()) => answer.map_err(|e| (e, Some(route))),
                    () = self.replaced(&route, search.slot) => continue,
                },
            };
            let (e, route) = match answer {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            // A node that says so answers, and one that has answered for a while has only now become silent.
            let says = route.as_deref().and_then(|route| self.redirect(&e, &route.owner.at));
            if says.is_some() || self.now().since(began) > LOOK {
                search.end = end(self.now());
            }
            search.go_on(e, route.as_deref()).await?;
        }
    }

    /// Completes when another node is the master of the slot.
    async fn replaced(&self, route: &Route, slot: u16) {
        let mut views = self.link.connector.views();
        loop {
            tokio::select! {
                biased;
                _ = views.changed() => {}
                () = self.link.clock().sleep_until(self.now() + LOOK) => {}
            }
            let Some(view) = self.link.current() else { continue };
            if route.owner.is_lost() {
                view.doubt(self.now());
            }
            if let Ok(view) = self.link.live().await
                && view.node(slot).is_some_and(|node| !Arc::ptr_eq(node, &route.owner))
            {
                return;
            }
        }
    }
}

//! Renewals: those of each master at the same time, so that one that is silent ends no lease on another.

use super::redirect::Redirect;
use super::router::{Route, Router, Search, unavailable};
use crate::backend::{Extension, Grant};
use crate::join::all;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The time that a master has for its answer while others have theirs, as a share of the lease: the answers come back together.
const SHARE: u32 = 6;

impl Router {
    pub(super) async fn extend_all(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let mut by_slot: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
        for (place, grant) in grants.iter().enumerate() {
            by_slot.entry(self.slot(&grant.claim.name)).or_default().push(place);
        }
        let timeout = self.shared.options.timeout;
        let limit = if by_slot.len() > 1 { timeout.min(ttl / SHARE) } else { 2 * timeout };
        let extended = all(by_slot.values().map(|places| async move {
            let these: Vec<&Grant> = places.iter().map(|place| grants[*place]).collect();
            let end = self.now() + limit;
            tokio::select! {
                biased;
                answers = self.extend_slot(&these, ttl) => answers,
                () = self.link.clock().sleep_until(end) => vec![Err(silent(limit)); these.len()],
            }
        }))
        .await;
        let mut answers: Vec<_> = by_slot.values().flatten().zip(extended.into_iter().flatten()).collect();
        answers.sort_by_key(|(place, _)| **place);
        let named = |(place, answer): (&usize, Result<Extension>)| {
            answer.map_err(|e| e.with_name(&grants[*place].claim.name))
        };
        answers.into_iter().map(named).collect()
    }

    /// Extends grants of one slot. Where they have gone is asked at once, and nothing is waited for: the engine asks again.
    async fn extend_slot(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let extend = async |route: Arc<Route>, these: &[&Grant]| route.way().backend.extend(these, ttl).await;
        let mut search = Search::new(self, &grants[0].claim.name, self.now() + self.patience());
        let route = match search.route().await {
            Ok(route) => route,
            Err(e) => return vec![Err(e); grants.len()],
        };
        let mut answers = extend(route.clone(), grants).await;
        for (answer, grant) in answers.iter_mut().zip(grants) {
            let Err(e) = answer else { continue };
            let redirect = self.redirect(e, &route.owner.at);
            if !matches!(redirect, Some(Redirect::Moved(_) | Redirect::Ask(_))) {
                self.doubt(e);
            } else if search.go_on(e.clone(), Some(&*route)).await.is_ok()
                && let Ok(route) = search.route().await
            {
                *answer = extend(route, &[grant]).await.pop().unwrap_or_else(|| Err(silent(ttl)));
            }
        }
        answers
    }
}

fn silent(limit: Duration) -> Error {
    unavailable(format!("the master of the name has not answered within {limit:?}"))
}

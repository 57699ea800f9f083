//! Taking and freeing a name that nobody else uses, by one statement each.
//!
//! What is in the row is known from the last step on it (`recent`). The server works out what depends on its clock, and replaces the
//! row only if it is the one that is known. In every other case nothing happens, and the row is read.

use super::backend::Lease;
use super::live::Live;
use super::rows::unless_changed;
use super::state::{self, Lock};
use crate::Result;
use crate::backend::{Claim, Grant, Leave};
use crate::stores::shared::lock_state::Held;
use crate::stores::shared::sql::{Boot, alone, grant, write};
use std::time::Duration;

/// A longer lease would not fit into the numbers of the server.
const MAX_TTL: Duration = Duration::from_secs(100 * 365 * 86_400);

impl Lease {
    /// Takes a name that was left free by this process. `None`: it is not free, or that is not known.
    pub(super) async fn take_free(&self, claim: &Claim) -> Result<Option<Grant>> {
        let Some(last) = self.shared.recent.take_free(&claim.name) else { return Ok(None) };
        let turns = claim.turns.max(1);
        let (Some(head), true) = (alone(claim, turns), claim.ttl <= MAX_TTL) else { return Ok(None) };
        let taken = self.for_claim(claim.id, |live| {
            let (servers, head, name) = (self.shared.servers.clone(), head.clone(), claim.name.clone());
            let ttl = claim.ttl;
            async move {
                live.run(move |session| {
                    Box::pin(async move {
                        let as_of = session.now();
                        let (ttl, not_before) = (ttl.as_nanos() as u64, last + u64::from(turns));
                        let values = (turns - 1, head, turns, ttl, name.as_str(), last, not_before);
                        let written = session.write(&servers.tables.take_free, values).await;
                        let written = unless_changed(written)?;
                        Ok((written.rows > 0).then_some((written.id, as_of)))
                    })
                })
                .await
            }
        });
        let Some((micros, as_of)) = taken.await.map_err(|e| e.with_name(&claim.name))? else {
            return Ok(None);
        };
        let now = state::now(micros);
        let (ends, since) = (now.at + claim.ttl, now.at);
        let held = Held { claim: claim.clone(), number: micros, turns, ends, since, evicted: false };
        self.shared.recent.held(&held);
        Ok(Some(grant(held, now, as_of)))
    }

    /// Frees a name that this claim holds alone. False: it does not, or that is not known.
    pub(super) async fn free_alone(
        &self,
        live: &Live,
        claim: &Claim,
        held: Held,
        leave: Leave,
    ) -> Result<bool> {
        let ends: u64 = held.ends.as_nanos() / 1000;
        let before = held.number + u64::from(held.turns) - 1;
        let last = held.number + u64::from(leave.used.min(held.turns)) - 1;
        let mut lock = Lock::default();
        lock.last = before;
        lock.holders.push(held);
        let (servers, text, name) =
            (self.shared.servers.clone(), write(&lock, Boot::OF_NO_MACHINE), claim.name.clone());
        let freed = live.run(move |session| {
            Box::pin(async move {
                let values = (last, name.as_str(), before, text, ends);
                let written = session.write(&servers.tables.free, values).await;
                Ok(unless_changed(written)?.rows > 0)
            })
        });
        let freed = freed.await?;
        if freed {
            self.shared.recent.freed(&claim.name, last);
        }
        Ok(freed)
    }
}

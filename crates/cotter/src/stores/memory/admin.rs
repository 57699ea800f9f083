//! Listing and evicting locks in memory.

use super::Lock;
use super::backend::Memory;
use crate::backend::{Admin, Cursor, EvictOrder};
use crate::backend::{Filter, Finding, Holder, Page, Record};
use crate::stores::shared::lock_state::{Held, Now};
use crate::{Eviction, FencingToken, Name, Result};
use async_trait::async_trait;

/// The number of records in a page.
const PAGE: usize = 100;

#[async_trait]
impl Admin for Memory {
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        let now = self.shared.now();
        let locks = self.shared.locks();
        let names = locks.keys().filter(|name| filter.admits(name)).cloned().collect();
        drop(locks);
        Page::by_name(PAGE, filter, names, from, |name| {
            Ok(Some(self.shared.with(name, |lock, _| self.record(name, lock, now))))
        })
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        let evicted = self
            .shared
            .with(name, |lock, now| lock.evict(order.token.map(FencingToken::get), order.now, now));
        Ok(evicted.map_or(Eviction::NotHeld, |token| Eviction::Evicted { token: token.into() }))
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        let what = "locks live in this process only; other processes do not see them";
        Ok(vec![Finding::limits("scope", what)])
    }
}

impl Memory {
    fn record(&self, name: &Name, lock: &Lock, now: Now) -> Record {
        let mut record = Record::free(name.clone());
        record.holders = lock.holders.iter().map(|h| self.holder(h, now)).collect();
        record.waiters = Some(lock.waiting() as u32);
        record.last_token = Some(lock.last_token().into());
        record
    }

    fn holder(&self, held: &Held, now: Now) -> Holder {
        let mut holder = Holder::new(&*held.claim.label, held.claim.mode, held.number);
        holder.turns = held.turns;
        holder.pid = Some(std::process::id());
        holder.since = Some(self.shared.time().wall_at(held.since));
        holder.remaining = Some(held.ends.since(now.at));
        holder
    }
}

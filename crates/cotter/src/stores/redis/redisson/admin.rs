//! Listing and evicting locks.

use super::backend::{EVICTED, Redisson};
use super::look::Look;
use super::names;
use super::recipe::Recipe;
use crate::backend::{Admin, Cursor, EvictOrder, Eviction, Filter, Finding, Mode, Page, Record};
use crate::stores::redis::errors::{Sent, explain};
use crate::stores::redis::script::Script;
use crate::stores::redis::{SCHEME, doctor, rights, script};
use crate::{Error, ErrorKind, Name, Result};
use async_trait::async_trait;
use redis::Value;

#[async_trait]
impl Admin for Redisson {
    async fn list(&self, filter: &Filter, _: Option<&Cursor>) -> Result<Page> {
        let Some(name) = &filter.exact else { return Err(cannot_list()) };
        let record = match self.recipe() {
            Recipe::Permits => self.holders_of_permits(name).await?,
            _ => {
                let found = Look::parse(self.ask(&script::REDISSON_LOOK, name, &[]).await?)?;
                found.map_or_else(|| Record::free(name.clone()), |look| look.record(name))
            }
        };
        let wanted = filter.free_too || !record.holders.is_empty() || record.waiters > Some(0);
        Ok(Page::new(wanted.then_some(record).into_iter().collect(), None))
    }

    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction> {
        if order.token.is_some() {
            return Err(unsupported("mode=redisson keeps no tokens with its locks; evict without a token"));
        }
        let (recipe, when) = (self.recipe(), if order.now { "now" } else { "" });
        if recipe == Recipe::Permits {
            return self.evict_permits(name, when).await?.ok_or_else(|| cannot_pass_on(name));
        }
        let channel = match recipe {
            Recipe::Fair => names::channels_in_line(name),
            _ => names::channel(recipe, name),
        };
        let args = [&*channel, recipe.message(Mode::Exclusive), EVICTED, when].map(str::as_bytes);
        let answer = self.ask(&script::REDISSON_EVICT, name, &args).await?;
        if matches!(&answer, Value::BulkString(text) if text == b"e") {
            return Err(cannot_pass_on(name));
        }
        Ok(match Look::parse(answer)? {
            Some(look) => Eviction::Evicted { token: look.token().into() },
            None => Eviction::NotHeld,
        })
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        let mut findings = doctor::diagnose(&self.link, &self.shared.options).await?;
        let limits = if self.recipe() == Recipe::Fair { &LIMITS[1..] } else { &LIMITS[..] };
        findings.extend(limits.iter().map(|(subject, limit)| Finding::limits(*subject, *limit)));
        let channel = format!("{}:{{cotter:doctor}}", names::channels(self.recipe()));
        findings.push(rights::messages(&self.link, &channel).await);
        Ok(findings)
    }
}

/// What the protocol does not have, whoever speaks it.
const LIMITS: [(&str, &str); 2] = [
    (
        "order",
        "an RLock of Redisson has no order (an RFairLock has: recipe=fair): all who wait are told of a release, and the first to ask gets the lock",
    ),
    (
        "tokens",
        "tokens order the grants of cotter, and those of an RFencedLock of the same name; an RLock of Redisson has none",
    ),
];

impl Redisson {
    /// Runs a script on the lock of a name and its counter.
    async fn ask(&self, script: &Script, name: &Name, args: &[&[u8]]) -> Result<Value> {
        let live = self.link.live().await?;
        let (tokens, [line, stays]) = (names::tokens(name), names::line(name));
        let keys = [&**name, &*tokens, &*line, &*stays];
        let keys = if self.recipe() == Recipe::Fair { &keys[..] } else { &keys[..2] };
        let answer = script.run(&live, keys, args).await;
        answer.map_err(|e| explain(e, Sent::Yes).with_name(name))
    }
}

fn cannot_list() -> Error {
    unsupported(
        "listing all locks is more than mode=redisson can do, because any hash of the server may be a lock; show one by its name",
    )
}

fn cannot_pass_on(name: &Name) -> Error {
    unsupported("the lock has no expiry, so it would never pass on; evict it at once (--now)").with_name(name)
}

fn unsupported(why: &str) -> Error {
    Error::new(ErrorKind::Unsupported, why).with_backend(SCHEME)
}

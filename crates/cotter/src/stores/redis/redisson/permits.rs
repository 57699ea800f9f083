//! Permits of Redisson's `RPermitExpirableSemaphore`: a count of those that are free, and a set of those that are held, each with an id and
//! the end of its lease. A lock is the permit of a semaphore that has one.

use super::acquire::Request;
use super::backend::{EVICTED, Redisson};
use super::fair::Place;
use super::names;
use super::recipe::Recipe;
use crate::backend::{Claim, Eviction, Grant, Holder, Mode, Record};
use crate::stores::redis::errors::{Sent, explain, unexpected};
use crate::stores::redis::live::Live;
use crate::stores::redis::older::millis;
use crate::stores::redis::script::{self, Script};
use crate::stores::redis::state::{text, turns};
use crate::{Moment, Name, Result};
use redis::Value;
use std::time::Duration;

/// How many permits a claim takes, and of how many.
fn wanted(mode: Mode) -> (u32, u32) {
    match mode {
        Mode::Permits { take, of } => (take, of),
        Mode::Exclusive | Mode::Shared => (1, 1),
    }
}

/// The ids of the permits of a claim: 16 bytes each, as Redisson's.
fn ids(claim: &Claim) -> impl Iterator<Item = Vec<u8>> {
    let (take, _) = wanted(claim.mode);
    let first = claim.id.bits();
    (0..take).map(move |n| first.wrapping_add(n.into()).to_be_bytes().to_vec())
}

fn keys(name: &Name) -> Vec<String> {
    let [held, limit] = names::permits(name);
    vec![name.to_string(), names::tokens(name), held, limit]
}

fn channel(name: &Name) -> Vec<u8> {
    names::channel(Recipe::Permits, name).into_bytes()
}

impl Redisson {
    pub(super) fn permits_request(&self, claim: &Claim, place: Place<'_>) -> Request {
        let (_, of) = wanted(claim.mode);
        // In the middle of a wait, the limit may be changed.
        let limit = if matches!(place, Place::Outside) { "" } else { "any" };
        let mut args = vec![
            millis(claim.ttl).to_string().into_bytes(),
            channel(&claim.name),
            self.tokens_are_kept(claim).into_bytes(),
            turns(claim.turns.max(1)).to_vec(),
            of.to_string().into_bytes(),
            limit.as_bytes().to_vec(),
        ];
        args.extend(ids(claim));
        Request { script: &script::REDISSON_PERMITS, keys: keys(&claim.name), args }
    }

    /// Gives back what a claim holds.
    pub(super) async fn free_permits(&self, live: &Live, claim: &Claim) -> Result<Value> {
        let mut args = vec![channel(&claim.name), EVICTED.as_bytes().to_vec()];
        args.extend(ids(claim));
        self.ask_about_permits(live, &script::REDISSON_PERMITS_RELEASE, &claim.name, &args).await
    }

    /// Extends grants of any names with one script.
    pub(super) async fn extend_permits(&self, grants: &[&Grant], ttl: Duration) -> Result<(String, Moment)> {
        let held: Vec<String> =
            grants.iter().map(|grant| names::permits(&grant.claim.name)[0].clone()).collect();
        let held: Vec<&str> = held.iter().map(String::as_str).collect();
        let mut args = vec![millis(ttl).to_string().into_bytes(), EVICTED.as_bytes().to_vec()];
        for grant in grants {
            args.push(wanted(grant.claim.mode).0.to_string().into_bytes());
            args.extend(ids(&grant.claim));
        }
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        let live = self.link.live().await?;
        let as_of = self.link.now();
        let answer = script::REDISSON_PERMITS_EXTEND.run(&live, &held, &args).await;
        Ok((text(answer.map_err(|e| explain(e, Sent::Yes))?)?, as_of))
    }

    /// Who holds permits of a semaphore.
    pub(super) async fn holders_of_permits(&self, name: &Name) -> Result<Record> {
        let live = self.link.live().await?;
        let answer = self.ask_about_permits(&live, &script::REDISSON_PERMITS_LOOK, name, &[]).await?;
        let (all, last, held): (String, String, Vec<(Vec<u8>, i64)>) =
            redis::from_redis_value(answer).map_err(|_| unexpected("no look at a semaphore"))?;
        let (all, last) = (all.parse().unwrap_or(0), last.parse().unwrap_or(0_u64));
        let mut record = Record::free(name.clone());
        record.holders = held.iter().map(|(id, left)| holder(id, *left, all)).collect();
        record.last_token = (last > 0).then(|| last.into());
        Ok(record)
    }

    /// Takes all permits back, at once or when their leases end; `None` if one of them has no end.
    pub(super) async fn evict_permits(&self, name: &Name, when: &str) -> Result<Option<Eviction>> {
        let live = self.link.live().await?;
        let args = [channel(name), EVICTED.as_bytes().to_vec(), when.as_bytes().to_vec()];
        match self.ask_about_permits(&live, &script::REDISSON_PERMITS_EVICT, name, &args).await? {
            Value::Int(0) => Ok(Some(Eviction::NotHeld)),
            Value::Int(_) => Ok(Some(Eviction::Evicted { token: 0.into() })),
            _ => Ok(None),
        }
    }

    pub(super) async fn limit_permits(&self, name: &Name, of: u32) -> Result<()> {
        let live = self.link.live().await?;
        let args = [channel(name), of.to_string().into_bytes()];
        self.ask_about_permits(&live, &script::REDISSON_PERMITS_LIMIT, name, &args).await.map(drop)
    }

    async fn ask_about_permits(
        &self,
        live: &Live,
        script: &Script,
        name: &Name,
        args: &[Vec<u8>],
    ) -> Result<Value> {
        let keys = keys(name);
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        script.run(live, &keys, &args).await.map_err(|e| explain(e, Sent::Yes).with_name(name))
    }
}

/// A permit as it can be shown: Redisson shows its id in hex, too.
fn holder(id: &[u8], left: i64, of: u32) -> Holder {
    let label = match <[u8; 16]>::try_from(id) {
        Ok(id) => format!("permit {:032x}", u128::from_be_bytes(id)),
        Err(_) if id.starts_with(EVICTED.as_bytes()) => "nobody: evicted".to_owned(),
        Err(_) => format!("permit {}", id.escape_ascii()),
    };
    let mut holder = Holder::new(label, Mode::Permits { take: 1, of }, 0);
    holder.remaining = u64::try_from(left).ok().map(Duration::from_millis);
    holder
}

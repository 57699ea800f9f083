//! Releasing what a claim holds.

use super::backend::{EVICTED, LEFT_BEHIND, Redisson};
use super::look::readers;
use super::names;
use super::recipe::Recipe;
use crate::backend::{Claim, Leave, Mode, Release};
use crate::stores::redis::errors::{Sent, explain, unexpected};
use crate::stores::redis::live::Live;
use crate::stores::redis::older::millis;
use crate::stores::redis::script::{self, Script};
use crate::{Name, Result};
use redis::Value;

impl Redisson {
    /// Releases a claim that shares nothing with readers.
    pub(super) async fn free(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let (live, rest) = (self.link.live().await?, rest(leave));
        let (owner, channel) = (self.owner(claim), names::channel(self.recipe(), &claim.name));
        let (message, mode) = (self.recipe().message(Mode::Exclusive), self.recipe().mode());
        let args = [&*owner, &*channel, message, EVICTED, &*rest, LEFT_BEHIND, mode];
        let answer = match self.recipe() {
            Recipe::Fair => self.free_fair(&live, claim, &rest).await?,
            Recipe::Permits => self.free_permits(&live, claim).await?,
            _ => self.run(&live, &script::REDISSON_RELEASE, &claim.name, &[&claim.name], &args).await?,
        };
        match answer {
            Value::BulkString(code) => self.released(claim, &live, &code),
            other => Err(unexpected(&format!("{other:?}"))),
        }
    }

    /// Releases a claim that shares the name with other readers. The lock then lives as long as the longest of their leases.
    pub(super) async fn leave(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let (live, rest) = (self.link.live().await?, rest(leave));
        let (name, owner) = (&claim.name, self.owner(claim));
        let channel = names::channel(self.recipe(), name);
        let (lease, kept) = (names::lease(name, &owner, 1), names::lease(name, LEFT_BEHIND, 1));
        let args = [&*owner, &*channel, self.recipe().message(claim.mode), EVICTED, &*rest, LEFT_BEHIND];
        let answer = self.run(&live, &script::REDISSON_LEAVE, name, &[name, &lease, &kept], &args).await?;
        match answer {
            Value::BulkString(code) => self.released(claim, &live, &code),
            others => {
                let others = readers(others);
                // What the claim held is released: if nobody shortens the life of the lock, it ends with the longest lease ever.
                let _ = self.settle(&live, name, &others).await;
                self.released(claim, &live, b"f")
            }
        }
    }

    /// Lets a lock live as long as the longest lease of these readers, each with the number of times that it has entered.
    async fn settle(&self, live: &Live, name: &Name, readers: &[(String, u64)]) -> Result<()> {
        let channel = names::channel(self.recipe(), name);
        let leases =
            readers.iter().flat_map(|(reader, count)| (1..=*count).map(|i| names::lease(name, reader, i)));
        let leases: Vec<String> = leases.collect();
        let keys: Vec<&str> = [&**name].into_iter().chain(leases.iter().map(String::as_str)).collect();
        let counts: Vec<String> = readers.iter().map(|(_, count)| count.to_string()).collect();
        let readers = readers.iter().zip(&counts).flat_map(|((reader, _), count)| [&**reader, &**count]);
        let args: Vec<&str> =
            [&*channel, self.recipe().message(Mode::Shared)].into_iter().chain(readers).collect();
        self.run(live, &script::REDISSON_SETTLE, name, &keys, &args).await.map(|_| ())
    }

    pub(super) async fn run(
        &self,
        live: &Live,
        script: &Script,
        name: &Name,
        keys: &[&str],
        args: &[&str],
    ) -> Result<Value> {
        let args: Vec<&[u8]> = args.iter().map(|arg| arg.as_bytes()).collect();
        script.run(live, keys, &args).await.map_err(|e| explain(e, Sent::Yes).with_name(name))
    }

    fn released(&self, claim: &Claim, live: &Live, code: &[u8]) -> Result<Release> {
        let (issued, now) = (&self.shared.issued, self.link.now());
        issued.forget(claim.id);
        let released = match code {
            b"f" => Release::Freed,
            b"n" => Release::NotHeld,
            b"e" => Release::Evicted,
            other => return Err(unexpected(&String::from_utf8_lossy(other))),
        };
        if released == Release::Freed {
            issued.rests.freed(&claim.name, now);
        }
        // On another connection, a request may arrive behind its release, and take the lock again.
        let stray = self.shared.in_flight.stray_until(claim.id, live.number, now);
        Ok(stray.map_or(released, |until| released.unsettled(until)))
    }
}

/// How long the name stays locked, in milliseconds; empty if it does not.
fn rest(leave: Leave) -> String {
    leave.keep_for.map(|d| millis(d).to_string()).unwrap_or_default()
}

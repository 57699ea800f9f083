//! Acquire requests.

use super::backend::Redisson;
use super::fair::{Ahead, Place};
use super::names;
use super::recipe::Recipe;
use crate::backend::{Claim, Grant, Mode};
use crate::stores::redis::errors::{Sent, explain, unexpected};
use crate::stores::redis::older::{Holding, millis};
use crate::stores::redis::script::{self, Script};
use crate::stores::redis::state::{text, turns};
use crate::{Error, Moment, Result};
use std::time::Duration;

/// What the server is asked to do for a claim.
pub(super) struct Request {
    pub(super) script: &'static Script,
    pub(super) keys: Vec<String>,
    pub(super) args: Vec<Vec<u8>>,
}

/// The result of an attempt to acquire a lock.
#[derive(Debug)]
pub(super) enum Tried {
    Granted(Grant),
    Taken(Taken),
}

/// The lock is held by others, or it is their turn.
#[derive(Debug)]
pub(super) struct Taken {
    /// The rest of the lease, unless they extend or release it; `None` if the lock has no expiry.
    pub(super) left: Option<Duration>,
    pub(super) ahead: Ahead,
}

impl Tried {
    pub(super) fn granted(self) -> Option<Grant> {
        match self {
            Self::Granted(grant) => Some(grant),
            Self::Taken(_) => None,
        }
    }
}

impl Redisson {
    /// Tries once to acquire the lock.
    pub(super) async fn try_once(&self, claim: &Claim, place: Place<'_>) -> Result<Tried> {
        let live = self.link.live().await?;
        let asks = match (self.recipe(), claim.mode) {
            (Recipe::Permits, _) => self.permits_request(claim, place),
            (Recipe::Fair, Mode::Exclusive) => self.fair_request(claim, place),
            _ => self.request(claim),
        };
        let keys: Vec<&str> = asks.keys.iter().map(String::as_str).collect();
        let args: Vec<&[u8]> = asks.args.iter().map(Vec::as_slice).collect();
        let sent = self.link.now();
        let request = self.shared.in_flight.send(claim.id, live.number, self.link.arrives_by(sent));
        let answer = asks.script.run(&live, &keys, &args).await;
        let answer = answer.map_err(|e| explain(e, Sent::Yes).with_name(&claim.name)).and_then(text);
        if !answer.as_ref().is_err_and(Error::outcome_unknown) {
            request.answered();
        }
        let answer = answer?;
        if let Some(of) = answer.strip_prefix('m').and_then(|limit| limit.parse().ok()) {
            return Err(claim.mode.mismatch(Mode::Permits { take: 1, of }).with_name(&claim.name));
        }
        self.tried(claim, &answer, sent).ok_or_else(|| unexpected(&answer))
    }

    fn request(&self, claim: &Claim) -> Request {
        let (name, owner) = (&claim.name, self.owner(claim));
        let (ttl, kept) = (millis(claim.ttl).to_string(), self.tokens_are_kept(claim));
        let mut keys = vec![name.to_string(), names::tokens(name)];
        let mut args = vec![owner.clone().into_bytes(), ttl.into_bytes(), kept.into_bytes()];
        let script = match claim.mode {
            Mode::Exclusive => {
                args.push(turns(claim.turns.max(1)).to_vec());
                args.push(self.recipe().mode().as_bytes().to_vec());
                &script::REDISSON_ACQUIRE
            }
            _ => {
                keys.push(names::lease(name, &owner, 1));
                &script::REDISSON_SHARE
            }
        };
        Request { script, keys, args }
    }

    fn tried(&self, claim: &Claim, answer: &str, sent: Moment) -> Option<Tried> {
        let rest = answer.get(1..)?;
        match answer.as_bytes().first()? {
            b'g' => {
                let block = (rest.get(..16)?.parse().ok()?, rest.get(16..)?.parse().ok()?);
                Some(Tried::Granted(self.issue(claim, block, sent, claim.ttl)))
            }
            b'o' => {
                // If the answer that named the block did not arrive, a token that was drawn anew stands for it.
                let block = match self.shared.issued.get(claim.id).and_then(|holding| holding.block) {
                    Some(block) => block,
                    None => (rest.get(..16)?.parse().ok()?, 1),
                };
                let left = millis_left(rest.get(16..)?)?.unwrap_or(claim.ttl);
                Some(Tried::Granted(self.issue(claim, block, sent, left)))
            }
            b'b' => {
                let (left, ahead) = rest.split_once(' ').unwrap_or((rest, ""));
                Some(Tried::Taken(Taken { left: millis_left(left)?, ahead: Ahead::parse(ahead) }))
            }
            _ => None,
        }
    }

    /// For how long the counter of tokens stays, in milliseconds; empty if it stays for good.
    pub(super) fn tokens_are_kept(&self, claim: &Claim) -> String {
        match self.recipe() {
            Recipe::Fenced => String::new(),
            Recipe::Lock | Recipe::Fair | Recipe::RwLock | Recipe::Permits => {
                millis(claim.ttl + self.shared.options.retain).to_string()
            }
        }
    }

    /// The grant of a block of tokens, which is kept for a repetition of the request.
    fn issue(&self, claim: &Claim, block: (u64, u16), as_of: Moment, ttl: Duration) -> Grant {
        let holding = Holding { values: Vec::new(), block: Some(block), until: as_of + ttl };
        self.shared.issued.set(claim.id, holding);
        let (number, turns) = block;
        Grant { turns, ttl: Some(ttl), ..Grant::new(claim.clone(), number, as_of) }
    }
}

/// A time to live; `None` within for a key that never expires.
pub(super) fn millis_left(text: &str) -> Option<Option<Duration>> {
    let left: i64 = text.parse().ok()?;
    Some(u64::try_from(left).ok().map(Duration::from_millis))
}

//! Waiting for the message that a lock was released.
//!
//! Without a line, everybody who waits is told of each release, and the first to ask gets the lock. A process that has held it
//! leaves it to the others for a moment. In the line of a fair lock, only the first is told.

use super::acquire::Tried;
use super::backend::Redisson;
use super::fair::{LINE_PERIOD, Place, Watch};
use super::names;
use super::recipe::Recipe;
use crate::backend::poll::Attempt;
use crate::backend::{Claim, Grant};
use crate::stores::redis::watched::WatchedNote;
use crate::stores::shared::net::Listener;
use crate::{Moment, Result};
use std::pin::Pin;
use std::time::Duration;

/// A waiter asks at least this often, so that a lost message costs no more.
const POLL_PERIOD: Duration = Duration::from_secs(5);
/// The same without a subscription to the channel of the lock, unless the URL says otherwise.
const UNSUBSCRIBED_POLL_PERIOD: Duration = Duration::from_millis(50);
/// A lease that ends within less than this is waited for no more often.
const LEAST_PERIOD: Duration = Duration::from_millis(1);

/// A claim that waits. A request that finds the lock held leaves nothing in the store.
pub(super) struct Waiting<'a> {
    redisson: &'a Redisson,
    claim: &'a Claim,
    watched: (WatchedNote, Listener),
    /// Until then the lock is left to others.
    rest: Option<Moment>,
    /// The rest of the holder's lease.
    left: Option<Duration>,
    /// Has asked before.
    asked: bool,
    /// Who is ahead in the line of a fair lock.
    ahead: Watch,
}

impl<'a> Waiting<'a> {
    pub(super) fn new(redisson: &'a Redisson, claim: &'a Claim) -> Self {
        let (recipe, name) = (redisson.recipe(), &claim.name);
        let (channel, rest) = match recipe {
            Recipe::Fair => (names::channels_in_line(name) + &redisson.owner(claim), None),
            _ => {
                let rests = &redisson.shared.issued.rests;
                (names::channel(recipe, name), rests.until(name, &redisson.rests, redisson.link.now()))
            }
        };
        let watched = redisson.subscription.watch(&channel);
        Self { redisson, claim, watched, rest, left: None, asked: false, ahead: Watch::default() }
    }

    /// Joins the line when it can be told of its turn, or has waited for that: whoever is told and does not listen counts as gone.
    fn place(&self) -> Place<'_> {
        let is_told = self.redisson.recipe() == Recipe::Fair && self.watched.0.is_subscribed();
        match self.asked || is_told {
            true => Place::InLine { passes: self.ahead.to_pass(self.redisson.link.now()) },
            false => Place::Outside,
        }
    }

    fn rests(&mut self) -> bool {
        let now = self.redisson.link.now();
        self.rest = self.rest.filter(|end| now < *end);
        self.rest.is_some()
    }
}

impl Attempt for Waiting<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        // Opens the subscription again if it was closed since.
        self.redisson.subscription.is_open();
        if self.rests() {
            return Ok(None);
        }
        let (name, rests) = (&self.claim.name, &self.redisson.shared.issued.rests);
        let tried = self.redisson.try_once(self.claim, self.place()).await?;
        self.asked = true;
        match tried {
            Tried::Granted(grant) => {
                rests.got(name, self.redisson.link.now());
                Ok(Some(grant))
            }
            Tried::Taken(taken) => {
                let now = self.redisson.link.now();
                rests.met(name, now);
                self.left = taken.left;
                self.ahead.saw(taken.ahead, now);
                Ok(None)
            }
        }
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.watched.0.changed.clone().notified_owned())
    }

    fn period(&self) -> Duration {
        if let Some(end) = self.rest {
            return end.since(self.redisson.link.now());
        }
        let longest = match self.watched.0.is_subscribed() {
            true => POLL_PERIOD,
            false => self.redisson.shared.options.retry.unwrap_or(UNSUBSCRIBED_POLL_PERIOD),
        };
        let longest = if self.ahead.is_close() { longest.min(LINE_PERIOD) } else { longest };
        self.left.map_or(longest, |left| left.clamp(LEAST_PERIOD, longest.max(LEAST_PERIOD)))
    }
}

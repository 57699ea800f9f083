//! Waiting in the queue of a name for the message that ends it.

use super::acquire::IfBusy;
use super::backend::Native;
use super::errors::unexpected;
use super::state::{Answer, Block};
use super::waiters::{Joined, Registration};
use crate::backend::poll::Attempt;
use crate::backend::{Claim, Grant};
use crate::stores::shared::net::Listener;
use crate::{Error, Moment, Result};
use std::pin::Pin;
use std::time::Duration;

/// A waiter sends its request at least this often, so that a lost message costs no more.
const MAX_POLL_PERIOD: Duration = Duration::from_secs(5);
/// A short lease does not make a waiter poll more often than this: the message wakes it.
const MIN_POLL_PERIOD: Duration = Duration::from_millis(500);
/// The lease of a grant by message until its holder's first request (`lua/hand_over.lua`). If the holder does not
/// respond, the next in the queue should notice soon.
pub(super) const UNCONFIRMED_TTL: Duration = Duration::from_secs(2);
/// The waiters at the head of the queue that watch for the end of an unconfirmed grant.
const UNCONFIRMED_WATCHERS: u64 = 2;
/// The waiters at the head of the queue that poll when the holder's lease ends. The others need not.
const LEASE_WATCHERS: u64 = 4;
/// The time between the polls of two such waiters.
const LEASE_WATCH_STEP: Duration = Duration::from_millis(20);
/// The pause after a request that failed.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// The poll period of a waiter without a subscription, which no message can reach.
const UNSUBSCRIBED_POLL_PERIOD: Duration = Duration::from_millis(500);
/// The time for which requests may fail without ending the wait: a server that stands still costs nobody its place.
const MAX_FAILURE_TIME: Duration = Duration::from_secs(15);

/// The time within which a waiter sends its next request.
pub(super) fn poll_period(claim: &Claim) -> Duration {
    (claim.ttl / 3).clamp(MIN_POLL_PERIOD, MAX_POLL_PERIOD)
}

/// The time without requests after which a waiter loses its place.
pub(super) fn max_silence(claim: &Claim) -> Duration {
    (poll_period(claim) * 3).max(Duration::from_secs(2))
}

/// A claim that waits in the queue. If it is dropped before the grant, `release` removes it from the queue.
pub(super) struct QueueEntry<'a> {
    native: &'a Native,
    claim: &'a Claim,
    registration: Registration,
    _count: Listener,
    /// The last request that was answered with a place in the queue.
    last: Option<Queued>,
    /// That was the request that joined the queue, just now.
    just_joined: bool,
    /// Whether a request was sent.
    requested: bool,
    period: Duration,
}

/// A request that was answered with a place in the queue.
#[derive(Clone, Copy)]
struct Queued {
    ticket: u64,
    sent: Moment,
}

impl<'a> QueueEntry<'a> {
    pub(super) fn new(native: &'a Native, claim: &'a Claim) -> Self {
        let registration = native.shared.waiters.wait(claim.id);
        let (joined, count) = (registration.take_joined(), native.subscription.enter());
        let mut entry = Self {
            native,
            claim,
            registration,
            _count: count,
            last: None,
            just_joined: joined.is_some(),
            requested: joined.is_some(),
            period: MAX_POLL_PERIOD,
        };
        if let Some(joined) = joined {
            // Opens the subscription again if it was closed since.
            native.subscription.is_open();
            entry.queued(joined);
        }
        entry
    }

    /// The grant that a message has brought. Only a message with the ticket of the last answered request counts, and its
    /// deadline counts from the sending of that request: another ticket belongs to an earlier stay in the queue.
    fn by_message(&self) -> Option<Grant> {
        let Queued { ticket, sent } = self.last?;
        let message = self.registration.take_message(ticket)?;
        Some(self.granted(message.block, sent))
    }

    fn granted(&self, block: Block, as_of: Moment) -> Grant {
        self.registration.granted();
        Native::grant(self.claim, block, as_of)
    }

    /// Whether a message would be received. Only before the first request it is worth waiting for the subscription.
    async fn is_subscribed(&mut self) -> bool {
        let subscription = &self.native.subscription;
        let requested = std::mem::replace(&mut self.requested, true);
        if requested { subscription.is_open() } else { subscription.wait_until_open().await }
    }

    fn queued(&mut self, Joined { ticket, sent, left, position }: Joined) {
        self.last = Some(Queued { ticket, sent });
        self.period = poll_period(self.claim);
        if position < UNCONFIRMED_WATCHERS {
            self.period = self.period.min(UNCONFIRMED_TTL);
        }
        if position < LEASE_WATCHERS {
            let watch = left + LEASE_WATCH_STEP * (position as u32 + 1);
            self.period = self.period.min(watch);
        }
    }

    /// A request that fails does not cost the place, as long as there is one.
    fn failed(&mut self, e: Error) -> Result<Option<Grant>> {
        let Some(last) = self.last else { return Err(e) };
        let may_be_queued =
            self.native.now().since(last.sent) < max_silence(self.claim).max(MAX_FAILURE_TIME);
        if e.is_retryable() && may_be_queued {
            self.period = RETRY_PAUSE;
            return Ok(self.by_message());
        }
        Err(e.with_outcome_unknown())
    }
}

impl Attempt for QueueEntry<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        if let Some(grant) = self.by_message() {
            return Ok(Some(grant));
        }
        if std::mem::take(&mut self.just_joined) {
            return Ok(None);
        }
        let channel = self.native.subscription.channel();
        let if_busy = if self.last.is_some() {
            IfBusy::Stay(channel)
        } else if self.is_subscribed().await {
            IfBusy::Join(channel)
        } else {
            // A waiter in the queue that no message can reach would be passed over.
            IfBusy::Leave
        };
        match self.native.request(self.claim, if_busy).await {
            Ok((Answer::Granted(block), sent)) => Ok(Some(self.granted(block, sent))),
            Ok((Answer::Queued { ticket, left, position }, sent)) => {
                self.queued(Joined { ticket, sent, left, position });
                Ok(self.by_message())
            }
            Ok((Answer::Busy { .. }, _)) if matches!(if_busy, IfBusy::Leave) => {
                self.period = poll_period(self.claim).min(UNSUBSCRIBED_POLL_PERIOD);
                Ok(None)
            }
            Ok((Answer::Busy { .. }, _)) => Err(unexpected("busy, to a request that joins the queue")),
            Err(e) => self.failed(e),
        }
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.registration.waiter.woken.clone().notified_owned())
    }

    fn period(&self) -> Duration {
        self.period
    }
}

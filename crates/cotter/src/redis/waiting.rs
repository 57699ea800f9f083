//! Waiting: a place in the queue of a name, and the message that ends it.

use super::backend::Native;
use super::inflight::{Got, Seated};
use super::state::{Answer, Block};
use super::wake::Waiting;
use crate::backend::poll::Attempt;
use crate::backend::{Claim, Grant};
use crate::{Error, Moment, Result};
use std::pin::Pin;
use std::time::Duration;

/// A waiter asks at least this often; a lost message costs no more.
const LONGEST: Duration = Duration::from_secs(5);
/// Nor more often than this, however short its lease is: the message wakes it.
const UNHURRIED: Duration = Duration::from_millis(500);
/// Who is granted the lock by message has it for so long at first (`lua/hand_over.lua`): if it does not come for it, the
/// next in line are to see that.
pub(super) const UNCONFIRMED: Duration = Duration::from_secs(2);
const NEXT: u64 = 2;
/// No more often than this because of a lease that should have ended.
const SHORTEST: Duration = Duration::from_millis(20);
/// After a question that was not answered.
const AFTER_TROUBLE: Duration = Duration::from_millis(100);
/// How often one asks that no message can reach.
const DEAF: Duration = Duration::from_millis(500);
/// So many at the head of the queue ask when the holder's lease ends; the others would only be told to go on waiting.
const WATCHERS: u64 = 4;

/// So long unanswered questions are borne: a server that stands still ends nobody's place.
const PATIENCE: Duration = Duration::from_secs(15);

/// How often a waiter asks at the latest.
pub(super) fn period(claim: &Claim) -> Duration {
    (claim.ttl / 3).clamp(UNHURRIED, LONGEST)
}

/// How long a waiter may be silent before it loses its place.
pub(super) fn silence(claim: &Claim) -> Duration {
    (period(claim) * 3).max(Duration::from_secs(2))
}

/// A place in the queue. Dropped before the grant, it is for `release` to leave the queue.
pub(super) struct Place<'a> {
    native: &'a Native,
    claim: &'a Claim,
    seat: Seated,
    _waiting: Waiting,
    /// The last question that was answered with a place.
    last: Option<Question>,
    /// That was the first one, just now.
    fresh: bool,
    /// Whether anything was asked.
    asked: bool,
    period: Duration,
}

/// A question that was answered with a place in the queue.
#[derive(Clone, Copy)]
struct Question {
    ticket: u64,
    sent: Moment,
}

impl<'a> Place<'a> {
    pub(super) fn new(native: &'a Native, claim: &'a Claim) -> Self {
        let seat = native.desk().wait(claim.id);
        let (got, waiting) = (seat.got(), native.wake().enter());
        let mut place = Self {
            native,
            claim,
            seat,
            _waiting: waiting,
            last: None,
            fresh: got.is_some(),
            asked: got.is_some(),
            period: LONGEST,
        };
        if let Some(Got { ticket, sent, left, position }) = got {
            // Should nobody listen any more by now.
            native.wake().is_open();
            place.queued(Question { ticket, sent }, left, position);
        }
        place
    }

    /// A grant that came by message: only for the ticket of the last answered question, and as of its sending. Another
    /// ticket speaks of an earlier stay in the queue.
    fn by_message(&self) -> Option<Grant> {
        let Question { ticket, sent } = self.last?;
        let message = self.seat.take(ticket)?;
        Some(self.granted(message.block, sent))
    }

    fn granted(&self, block: Block, as_of: Moment) -> Grant {
        self.seat.hold();
        Native::grant(self.claim, block, as_of)
    }

    /// Whether a message would be heard. Only before the first question it is worth some time.
    async fn listens(&mut self) -> bool {
        let wake = self.native.wake();
        if std::mem::replace(&mut self.asked, true) { wake.is_open() } else { wake.opens().await }
    }

    fn queued(&mut self, question: Question, left: Duration, position: u64) {
        self.last = Some(question);
        self.period = period(self.claim);
        if position < NEXT {
            self.period = self.period.min(UNCONFIRMED);
        }
        if position < WATCHERS {
            let watch = left + SHORTEST * (position as u32 + 1);
            self.period = self.period.min(watch);
        }
    }

    /// An unanswered question does not cost the place, as long as there is one.
    fn trouble(&mut self, e: Error) -> Result<Option<Grant>> {
        let Some(last) = self.last else { return Err(e) };
        let alive = self.native.now().since(last.sent) < silence(self.claim).max(PATIENCE);
        if e.is_retryable() && alive {
            self.period = AFTER_TROUBLE;
            return Ok(self.by_message());
        }
        Err(e.with_outcome_unknown())
    }
}

impl Attempt for Place<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        if let Some(grant) = self.by_message() {
            return Ok(Some(grant));
        }
        if std::mem::take(&mut self.fresh) {
            return Ok(None);
        }
        let again = self.last.is_some();
        // Without anybody who listens it asks all the same, but for no place.
        let joins = again || self.listens().await;
        match self.native.ask(self.claim, joins.then(|| self.native.wake().channel()), again).await {
            Ok((Answer::Granted(block), sent)) => Ok(Some(self.granted(block, sent))),
            Ok((Answer::Queued { ticket, left, position }, sent)) => {
                self.queued(Question { ticket, sent }, left, position);
                Ok(self.by_message())
            }
            Ok((Answer::Busy { .. }, _)) if !joins => {
                self.period = period(self.claim).min(DEAF);
                Ok(None)
            }
            Ok((Answer::Busy { .. }, _)) => Err(super::errors::garbled("busy to one who joins")),
            Err(e) => self.trouble(e),
        }
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.seat.waiter.woken.clone().notified_owned())
    }

    fn period(&self) -> Duration {
        self.period
    }
}

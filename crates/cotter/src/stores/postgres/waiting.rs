//! Waiting in the queue of a name.

use super::acquire::{Answer, IfBusy, QueuePosition};
use super::backend::Lease;
use super::errors::unexpected;
use super::waiters::{Joined, Registration};
use crate::backend::poll::Attempt;
use crate::backend::{Claim, Grant};
use crate::stores::shared::net::Listener;
use crate::{Error, Moment, Result};
use std::pin::Pin;
use std::time::Duration;

/// A waiter asks at least this often, so that a lost notification costs no more.
const MAX_PERIOD: Duration = Duration::from_secs(5);
/// A short lease does not make a waiter ask more often than this: the notification wakes it.
const MIN_PERIOD: Duration = Duration::from_millis(500);
/// The first waiters watch for a holder, or a waiter before them, that was killed.
const WATCHERS: u32 = 4;
/// The period at which they do so.
const WATCH_PERIOD: Duration = Duration::from_secs(2);
/// The time between two of them that ask when a lease ends.
const WATCH_STEP: Duration = Duration::from_millis(20);
/// The period of a waiter that no notification can reach: its place in the queue times this, up to the longest.
const UNHEARD_STEP: Duration = Duration::from_millis(25);
const MAX_UNHEARD_PERIOD: Duration = Duration::from_millis(500);
/// The pause after a request that failed.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// The time for which requests may fail without ending the wait: a server that restarts costs nobody its wait.
const MAX_FAILURE_TIME: Duration = Duration::from_secs(15);

/// The time within which a waiter asks again.
fn period(claim: &Claim) -> Duration {
    (claim.ttl / 3).clamp(MIN_PERIOD, MAX_PERIOD)
}

/// The time without requests after which a waiter loses its place. The row of a waiter that was killed stays for that time.
pub(super) fn max_silence(claim: &Claim) -> Duration {
    (period(claim) * 3).max(Duration::from_secs(2))
}

/// A claim that waits in the queue. If it is dropped before the grant, `release` removes it from the queue.
pub(super) struct QueueEntry<'a> {
    lease: &'a Lease,
    claim: &'a Claim,
    registration: Registration,
    _count: Listener,
    /// When the last request was sent that was answered with a place in the queue.
    queued: Option<Moment>,
    /// That was the request that joined the queue, just now.
    just_joined: bool,
    period: Duration,
}

impl<'a> QueueEntry<'a> {
    pub(super) fn new(lease: &'a Lease, claim: &'a Claim) -> Self {
        let (registration, count) = (lease.shared.waiters.wait(claim.id), lease.subscription.enter());
        let joined = registration.take_joined();
        let just_joined = joined.is_some();
        let mut entry =
            Self { lease, claim, registration, _count: count, queued: None, just_joined, period: MAX_PERIOD };
        if let Some(Joined { place, sent }) = joined {
            let heard = lease.subscription.is_open();
            entry.queued(place, sent, heard);
        }
        entry
    }

    fn queued(&mut self, QueuePosition { left, position }: QueuePosition, sent: Moment, heard: bool) {
        self.queued = Some(sent);
        self.period = period(self.claim);
        if position < WATCHERS {
            let watch = left + WATCH_STEP * (position + 1);
            self.period = self.period.min(watch).min(WATCH_PERIOD);
        }
        if !heard {
            self.period = self.period.min((UNHEARD_STEP * (position + 1)).min(MAX_UNHEARD_PERIOD));
        }
    }

    /// A request that fails does not end the wait, as long as there may be a place in the queue.
    fn failed(&mut self, e: Error) -> Result<Option<Grant>> {
        let Some(queued) = self.queued else { return Err(e) };
        let may_go_on = self.lease.now().since(queued) < max_silence(self.claim).max(MAX_FAILURE_TIME);
        if e.is_retryable() && may_go_on {
            self.period = RETRY_PAUSE;
            return Ok(None);
        }
        Err(e.with_outcome_unknown())
    }
}

impl Attempt for QueueEntry<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        if std::mem::take(&mut self.just_joined) {
            return Ok(None);
        }
        let subscription = &self.lease.subscription;
        // Until it is open, notifications are lost; when it is, every waiter asks again. A channel on which nobody listens would be
        // taken for that of a waiter that was killed.
        let heard = subscription.is_open();
        let channel = if heard { subscription.channel() } else { "" };
        match self.lease.request(self.claim, IfBusy::Queue(channel, max_silence(self.claim))).await {
            Ok((Answer::Granted(grant), _)) => Ok(Some(grant)),
            Ok((Answer::Queued(place), sent)) => {
                self.queued(place, sent, heard);
                Ok(None)
            }
            Ok((Answer::Busy, _)) => Err(unexpected("busy, for a request that joins the queue")),
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

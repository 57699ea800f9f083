//! Waiting in the queue of a name.

use super::backend::Lease;
use super::bell::Bell;
use super::bells::WithoutBell;
use super::rows::Changed;
use super::state::Asking;
use crate::backend::poll::Attempt;
use crate::backend::{Backoff, Claim, Grant, Mode};
use crate::stores::shared::sql::grant;
use crate::{Error, Moment, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// A waiter keeps its place by asking at least this often.
const PERIOD: Duration = Duration::from_millis(700);
/// The time between two waiters that ask when a lease ends.
const END_STEP: Duration = Duration::from_millis(20);
/// The pause after a request that failed.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// The time for which requests may fail without ending the wait: a server that restarts costs nobody its wait.
const MAX_FAILURE_TIME: Duration = Duration::from_secs(15);
/// The period of a waiter without a bell: its place in the queue times this, up to the longest.
const STEP: Duration = Duration::from_millis(25);
/// So many waiters of a client without a bell ask in this period. Where there are more, each asks less often: otherwise those of
/// many names would keep the server and their engine busy.
const AT_ONCE: usize = 16;
/// The first waiter has the bell while somebody holds who has not waited for it, and asks after these pauses.
const FIRST: Backoff = Backoff::new(Duration::from_millis(1), STEP).with_jitter(0.25);
/// The pauses after which a waiter that has passed the bell on joins its queue again.
const PASS_ON: Backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(100)).with_jitter(0.25);

/// A claim that waits in the queue. If it is dropped before the grant, `release` removes it from the queue.
pub(super) struct QueueEntry<'a> {
    lease: &'a Lease,
    claim: &'a Claim,
    woken: Arc<Notify>,
    bell: Option<Bell>,
    /// It has no bell, and asks again and again.
    without: Option<WithoutBell>,
    first: Backoff,
    pass_on: Backoff,
    /// When the last request was sent that was answered with a place in the queue.
    queued: Option<Moment>,
    period: Duration,
}

impl<'a> QueueEntry<'a> {
    pub(super) fn new(lease: &'a Lease, claim: &'a Claim) -> Self {
        let (woken, first, pass_on) = (Arc::default(), FIRST, PASS_ON);
        Self { lease, claim, woken, bell: None, without: None, first, pass_on, queued: None, period: PERIOD }
    }

    /// Sets the period of a waiter at this place, while the first lease to end has so much left.
    fn queued(&mut self, position: u32, left: Duration) {
        if self.bell.as_ref().is_none_or(Bell::is_gone) {
            self.bell = self.lease.bells.stand(&self.claim.name, &self.woken);
        }
        let rings = self.bell.as_ref().map(Bell::rings);
        let bells = &self.lease.bells;
        self.without = rings.is_none().then(|| self.without.take().unwrap_or_else(|| bells.go_without()));
        let most = PERIOD.min(left + END_STEP * position);
        self.period = match (rings, position) {
            (None, _) => most.min(pause_without_bell(position, bells.without())),
            (Some(true), 0) => most.min(self.first.pause()),
            (Some(true), _) => {
                let pause = self.pass_on.pause();
                self.bell.iter().for_each(|bell| bell.pass_on(pause));
                most
            }
            (Some(false), _) => most,
        };
    }

    /// The bell stays with a claim that holds the name alone: the next one in line comes when it is let go. Others may be admitted
    /// together with a claim that shares it.
    fn granted(&mut self, grant: &Grant) {
        let is_alone = self.claim.mode == Mode::Exclusive;
        if let Some(bell) = self.bell.take().filter(|bell| is_alone && !bell.is_gone()) {
            let ends = grant.as_of + grant.ttl.unwrap_or_default();
            self.lease.shared.kept.keep(self.claim.id, bell, ends, self.lease.now());
        }
    }

    /// A request that fails does not end the wait, as long as there may be a place in the queue.
    fn failed(&mut self, e: Error) -> Result<Option<Grant>> {
        let Some(queued) = self.queued else { return Err(e) };
        if e.is_retryable() && self.lease.now().since(queued) < MAX_FAILURE_TIME {
            self.period = RETRY_PAUSE;
            return Ok(None);
        }
        Err(e.with_outcome_unknown())
    }
}

/// The pause of a waiter at this place, if so many waiters of its client have no bell.
fn pause_without_bell(position: u32, waiters: usize) -> Duration {
    let turns = u32::try_from(waiters.div_ceil(AT_ONCE)).unwrap_or(u32::MAX);
    STEP.saturating_mul(position.saturating_add(1)).saturating_mul(turns.max(1))
}

impl Attempt for QueueEntry<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        if self.queued.is_none()
            && let Some(grant) = self.lease.take_free(self.claim).await?
        {
            return Ok(Some(grant));
        }
        let claim = self.claim.clone();
        let asked = self.lease.take(self.claim, move |lock, now| {
            let held = lock.take_or_queue(&claim, &Asking::at(now.at), now)?;
            let position = lock.queue.iter().position(|queued| queued.claim.id == claim.id);
            Ok((held, (position.unwrap_or(0), lock.next_end())))
        });
        let Changed { done: (held, (position, next_end)), now, as_of } = match asked.await {
            Ok(changed) => changed,
            Err(e) => return self.failed(e),
        };
        self.queued = Some(as_of);
        let granted = held.map(|held| grant(held, now, as_of));
        match &granted {
            Some(grant) => self.granted(grant),
            None => {
                let left = next_end.map_or(PERIOD, |end| end.since(now.at));
                self.queued(u32::try_from(position).unwrap_or(u32::MAX), left);
            }
        }
        Ok(granted)
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.woken.clone().notified_owned())
    }

    fn period(&self) -> Duration {
        self.period
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever their number, up to what keeps their places.
    #[test]
    fn waiters_without_a_bell_do_not_flood_the_server() {
        assert_eq!(pause_without_bell(0, 1), STEP);
        assert_eq!(pause_without_bell(1, AT_ONCE), 2 * STEP);
        let most_per_second = AT_ONCE as f64 / STEP.as_secs_f64();
        for waiters in [1, 16, 17, 100, 5000] {
            let per_second = waiters as f64 / pause_without_bell(0, waiters).as_secs_f64();
            assert!(
                per_second <= most_per_second + 1.0,
                "{waiters} waiters ask {per_second} times per second"
            );
        }
        assert_eq!(PERIOD.min(pause_without_bell(u32::MAX, usize::MAX)), PERIOD);
    }
}

//! Waiting: being told that a name is free, and random pauses.

use super::acquire::{Order, Tried};
use super::backend::Quorum;
use super::seats::member;
use crate::backend::pace::{JITTER, Pace, Pauses};
use crate::backend::poll::Attempt;
use crate::backend::{Acquired, Backend, Claim, Grant};
use crate::join::First;
use crate::{Error, Moment, Result};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The pauses of a waiter that nobody tells when the name is free.
const UNTOLD: Duration = Duration::from_millis(50);
/// In a long wait, its pauses grow to this share of the time waited, but not beyond this length. A holder that has died is noticed
/// that much later.
const LONG_WAIT: (u32, Duration) = (100, Duration::from_millis(250));
/// The rests after a stay. They can be short, because waiters are told when the name is free.
const RESTS: Duration = Duration::from_millis(6);
/// The time for which too few members may answer without an error.
pub(super) const SILENCE: Duration = Duration::from_secs(2);
/// The pauses while too few members vote.
const ABSTINENCE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));
/// How long to wait at random after having been told: the members free a name one after the other.
const SPREAD: Duration = Duration::from_millis(2);
/// Who has met a crowd asks of its own accord no sooner than after so many times the length of an attempt: the one that is
/// ahead needs the time to get the votes of all members.
const ATTEMPTS_APART: f64 = 4.0;

/// A claim that waits.
pub(super) struct Waiting<'a> {
    quorum: &'a Quorum,
    claim: &'a Claim,
    /// Until then the name is left to others.
    rest: Option<Moment>,
    pace: Pace,
    pause: Duration,
    /// Whether a member has said that the name may be free, since the last attempt.
    told: Arc<AtomicBool>,
    /// Others ask at the same time, so many that nobody gets a majority.
    crowded: bool,
    /// Why too few members vote or answer at the moment, and since when.
    shortage: Option<(Error, Moment)>,
    unsettled: Option<Moment>,
}

impl<'a> Waiting<'a> {
    pub(super) fn new(quorum: &'a Quorum, claim: &'a Claim) -> Self {
        let now = quorum.seats.now();
        Self {
            quorum,
            claim,
            rest: quorum.shared.rests.until(&claim.name, &Pauses::up_to(RESTS), now),
            pace: Pace::new(Pauses::up_to(UNTOLD), now),
            pause: Duration::ZERO,
            told: Arc::default(),
            crowded: false,
            shortage: None,
            unsettled: None,
        }
    }

    /// The answer to a wait that has ended without a grant.
    pub(super) fn in_vain(self) -> Result<Acquired> {
        match self.shortage {
            Some((error, _)) => Err(error),
            None => Ok(self.unsettled.map_or(Acquired::Busy, Acquired::unsettled)),
        }
    }

    /// An attempt of this length met others.
    fn failed(&mut self, acquired: Acquired, split: bool, took: Duration) {
        let now = self.quorum.seats.now();
        self.quorum.shared.rests.met(&self.claim.name, now);
        self.shortage = None;
        if let Acquired::Unsettled { until } = acquired {
            self.unsettled = self.unsettled.max(Some(until));
        }
        self.crowded |= split;
        let (share, longest) = LONG_WAIT;
        let of_wait = (self.pace.waited(now) / share).min(longest);
        let of_wait = random((of_wait.mul_f64(1.0 - JITTER), of_wait.mul_f64(1.0 + JITTER)));
        self.pause = self.pace.after_meeting(1, now).max(of_wait);
        if self.crowded {
            self.pause = self.pause.max(random((took, took.mul_f64(ATTEMPTS_APART * 2.0))));
        }
    }

    /// Too few members vote. A busy member is silent for a moment, and that ends no wait.
    fn short_of_votes(&mut self, error: Error, abstained: bool) -> Result<()> {
        let now = self.quorum.seats.now();
        let since = self.shortage.as_ref().map_or(now, |(_, since)| *since);
        if !abstained && (!error.is_retryable() || now.since(since) > SILENCE) {
            return Err(error);
        }
        if abstained && self.shortage.is_none() {
            tracing::warn!(target: "cotter", name = %self.claim.name, "waiting: {error}");
        }
        self.shortage = Some((error, since));
        self.pause = random(ABSTINENCE);
        Ok(())
    }
}

impl Attempt for Waiting<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        let now = self.quorum.seats.now();
        if let Some(left) = self.rest.take().map(|end| end.since(now)).filter(|left| !left.is_zero()) {
            self.pause = left;
            return Ok(None);
        }
        let told = self.told.swap(false, Ordering::Relaxed);
        let order = if told && self.crowded { Order::OneFirst } else { Order::AllAtOnce };
        match self.quorum.try_once(self.claim, order).await {
            Ok(Tried::Granted(grant)) => {
                self.quorum.shared.rests.got(&self.claim.name, self.quorum.seats.now());
                return Ok(Some(grant));
            }
            Ok(Tried::Failed { acquired, split }) => {
                self.failed(acquired, split, self.quorum.seats.now().since(now));
            }
            Ok(Tried::Abstained(error)) => self.short_of_votes(error, true)?,
            Err(error) => self.short_of_votes(error, false)?,
        }
        Ok(None)
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let freed = |(_, backend): (usize, Arc<dyn Backend>)| member(&*backend).freed(&self.claim.name);
        let freed = First(self.quorum.seats.backends().map(freed).collect());
        let (clock, told) = (self.quorum.seats.host.clock().clone(), self.told.clone());
        Box::pin(async move {
            freed.await;
            told.store(true, Ordering::Relaxed);
            clock.sleep_until(clock.now() + random((Duration::ZERO, SPREAD))).await;
        })
    }

    fn period(&self) -> Duration {
        self.pause
    }
}

fn random((low, high): (Duration, Duration)) -> Duration {
    Duration::from_secs_f64(crate::random::between(low.as_secs_f64(), high.as_secs_f64()))
}

//! The contract, and waiting with random pauses.

use super::Shared;
use super::acquire::Tried;
use super::seats::{Answers, Seats, member};
use super::shortage::no_quorum;
use crate::backend::pace::{Pace, Pauses};
use crate::backend::poll::{self, Attempt};
use crate::backend::{
    Acquired, Admin, Backend, Capabilities, Claim, Extension, Grant, Info, Leave, Level, Notes, Release,
    Until,
};
use crate::join::First;
use crate::{Error, Moment, Result};
use async_trait::async_trait;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// One connection to a quorum.
#[derive(Debug)]
pub(super) struct Quorum {
    pub(super) info: Info,
    pub(super) seats: Seats,
    pub(super) shared: Arc<Shared>,
}

impl Quorum {
    pub(super) fn new(seats: Seats, shared: Arc<Shared>) -> Self {
        let members: Vec<_> = seats.backends().map(|(_, backend)| backend).collect();
        let instances: Vec<_> = members.iter().map(|m| m.info().instance.clone()).collect();
        let mut info = Info::new(shared.scheme, instances.join(","));
        let all = |can: fn(&Capabilities) -> bool| members.iter().all(|m| can(&m.info().capabilities));
        info.level = members.iter().map(|m| m.info().level).min().unwrap_or(Level::BestEffort);
        info.capabilities = Capabilities {
            leases: true,
            names: all(|c| c.names),
            distinct: all(|c| c.distinct),
            keep_for: all(|c| c.keep_for),
            notes: all(|c| c.notes),
            records: all(|c| c.records),
            shared: all(|c| c.shared),
            per_runtime: !all(|c| !c.per_runtime),
            min_ttl: members.iter().map(|m| m.info().capabilities.min_ttl).max().unwrap_or_default(),
            ttl_step: members.iter().map(|m| m.info().capabilities.ttl_step).max().unwrap_or_default(),
            ..Capabilities::default()
        };
        Self { info, seats, shared }
    }
}

impl Quorum {
    /// The answers, if a majority has answered.
    pub(super) fn majority_of<T>(&self, answers: Answers<T>) -> Result<Vec<T>> {
        let (mut good, mut failed) = (Vec::new(), None);
        for answer in answers.into_iter().flatten() {
            match answer {
                Ok(answer) => good.push(answer),
                Err(e) => failed = Some(e),
            }
        }
        let (of, majority) = (self.seats.len(), self.seats.majority());
        if good.len() >= majority {
            Ok(good)
        } else {
            Err(no_quorum((good.len(), of, majority), None, failed.as_ref()))
        }
    }
}

/// The pauses of a waiter that nobody tells when the name is free.
const UNTOLD: Duration = Duration::from_millis(50);
/// The rests after a stay. They can be short, because waiters are told when the name is free.
const RESTS: Duration = Duration::from_millis(6);
/// The time for which too few members may answer without ending a wait.
const SILENCE: Duration = Duration::from_secs(2);
/// The pauses while too few members vote.
const ABSTINENCE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));
/// How long to wait at random after having been told. The members free a name one after the other, and waiters that ask at
/// the same time may all fail: after that, they wait for up to `MAX_SPREAD`.
const SPREAD: Duration = Duration::from_millis(2);
const MAX_SPREAD: Duration = Duration::from_millis(32);

/// A claim that waits.
struct Waiting<'a> {
    quorum: &'a Quorum,
    claim: &'a Claim,
    /// Until then the name is left to others.
    rest: Option<Moment>,
    pace: Pace,
    pause: Duration,
    spread: Duration,
    /// Why too few members vote or answer at the moment, and since when.
    shortage: Option<(Error, Moment)>,
    unsettled: Option<Moment>,
}

impl<'a> Waiting<'a> {
    fn new(quorum: &'a Quorum, claim: &'a Claim) -> Self {
        let now = quorum.seats.now();
        let rest = quorum.shared.rests.until(&claim.name, &Pauses::up_to(RESTS), now);
        let pace = Pace::new(Pauses::up_to(UNTOLD), now);
        let (pause, spread) = (Duration::ZERO, SPREAD);
        Self { quorum, claim, rest, pace, pause, spread, shortage: None, unsettled: None }
    }

    fn failed(&mut self, acquired: Acquired, split: bool) {
        let now = self.quorum.seats.now();
        self.quorum.shared.rests.met(&self.claim.name, now);
        self.shortage = None;
        if let Acquired::Unsettled { until } = acquired {
            self.unsettled = self.unsettled.max(Some(until));
        }
        self.spread = if split { (self.spread * 2).min(MAX_SPREAD) } else { SPREAD };
        self.pause = self.pace.after_meeting(1, now);
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
        match self.quorum.try_once(self.claim).await {
            Ok(Tried::Granted(grant)) => {
                self.quorum.shared.rests.got(&self.claim.name, self.quorum.seats.now());
                return Ok(Some(grant));
            }
            Ok(Tried::Failed { acquired, split }) => self.failed(acquired, split),
            Ok(Tried::Abstained(error)) => self.short_of_votes(error, true)?,
            Err(error) => self.short_of_votes(error, false)?,
        }
        Ok(None)
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let freed = |(_, backend): (usize, Arc<dyn Backend>)| member(&*backend).freed(&self.claim.name);
        let freed = First(self.quorum.seats.backends().map(freed).collect());
        let (clock, spread) = (self.quorum.seats.host.clock().clone(), self.spread);
        Box::pin(async move {
            freed.await;
            clock.sleep_until(clock.now() + random((Duration::ZERO, spread))).await;
        })
    }

    fn period(&self) -> Duration {
        self.pause
    }
}

fn random((low, high): (Duration, Duration)) -> Duration {
    Duration::from_secs_f64(crate::random::between(low.as_secs_f64(), high.as_secs_f64()))
}

#[async_trait]
impl Backend for Quorum {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        if until == Until::Now {
            return match self.try_once(claim).await? {
                Tried::Granted(grant) => Ok(Acquired::Granted(grant)),
                Tried::Failed { acquired, .. } => Ok(acquired),
                Tried::Abstained(error) => Err(error),
            };
        }
        let mut waiting = Waiting::new(self, claim);
        let granted = poll::until(&**self.seats.host.clock(), until, &mut waiting).await?;
        match (granted, waiting.shortage) {
            (Some(grant), _) => Ok(Acquired::Granted(grant)),
            (None, Some((error, _))) => Err(error),
            (None, None) => Ok(waiting.unsettled.map_or(Acquired::Busy, Acquired::unsettled)),
        }
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        self.extend_all(grants, ttl).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        self.release_all(claim, leave).await
    }

    /// The clock of whichever member answers first: a sign of life, and the basis of schedules.
    async fn time(&self) -> Result<Option<SystemTime>> {
        let seats = self.seats.awake();
        let time = |_, backend: Arc<dyn Backend>| async move { backend.time().await };
        let majority = self.seats.majority();
        let heard = |answers: &[Option<Result<_>>]| {
            answers.iter().flatten().filter(|a| a.is_ok()).count() >= majority
        };
        let answers = self.seats.ask(&seats, self.seats.limit(Duration::MAX), time, heard).await;
        self.majority_of(answers).map(|times| times.into_iter().flatten().min())
    }

    async fn close(&self) {
        self.seats.close().await;
    }

    fn notes(&self) -> Option<&dyn Notes> {
        self.info.capabilities.notes.then_some(self)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }
}

//! The gates of a run besides the lock of its job: a lock shared by several jobs, and a limit for all hosts.
//!
//! They are entered in this order by all, after the lock of the job and without a worker, so that nobody waits in a circle.

use super::context::{Context, Halt, Stop};
use super::snapshot::JobSnapshot;
use super::waiting::Waiting;
use crate::UnixTime;
use cotter::{Guard, LossSignal, Permit};
use std::future::Future;
use std::time::Duration;

/// A wait is repeated after this, so that an outage of the store is noticed.
const MAX_WAIT: Duration = Duration::from_secs(15);

/// The gates that a run has passed.
#[derive(Debug, Default)]
pub(super) struct Gates {
    lock: Option<Guard>,
    limit: Option<Permit>,
}

impl Gates {
    /// Enters what the job needs, if that is free now.
    pub(super) async fn try_enter(context: &Context, snapshot: &JobSnapshot) -> Result<Option<Self>, Halt> {
        Self::enter_within(&Waiting::of(context, snapshot), context, snapshot, Duration::ZERO).await
    }

    /// Waits until everything is free, or for as long as the lock of the job is held, and says so. Returns nothing if it has
    /// become too late.
    pub(super) async fn enter(
        context: &Context,
        snapshot: &JobSnapshot,
        guard: &Guard,
    ) -> Result<Option<Self>, Halt> {
        let waiting = Waiting::of(context, snapshot);
        let entered = tokio::select! {
            biased;
            entered = Self::enter_in_time(&waiting, context, snapshot, guard) => entered,
            never = waiting.tell() => match never {},
        };
        waiting.end().await;
        entered
    }

    async fn enter_in_time(
        waiting: &Waiting<'_>,
        context: &Context,
        snapshot: &JobSnapshot,
        guard: &Guard,
    ) -> Result<Option<Self>, Halt> {
        let latest: UnixTime = context.clock.now() + snapshot.job.policy.misfire_window;
        loop {
            let left = latest.since(context.clock.now()).min(MAX_WAIT);
            if left.is_zero() {
                return Ok(None);
            }
            tokio::select! {
                () = context.stopping(Stop::Starts) => return Err(Halt::Stopped),
                () = snapshot.retired() => return Err(Halt::Stopped),
                lost = guard.lost() => return Err(Halt::Failed(cotter::Error::from(lost).into())),
                entered = Self::enter_within(waiting, context, snapshot, left) => {
                    if let Some(gates) = entered? {
                        return Ok(Some(gates));
                    }
                }
            }
        }
    }

    async fn enter_within(
        waiting: &Waiting<'_>,
        context: &Context,
        snapshot: &JobSnapshot,
        wait: Duration,
    ) -> Result<Option<Self>, Halt> {
        let (policy, client) = (&snapshot.job.policy, &context.settings.client);
        let mut gates = Self::default();
        waiting.for_limit(false);
        if let Some(name) = &policy.lock {
            let mutex = policy.lease.into_iter().fold(client.mutex(name), cotter::Mutex::lease);
            let got = context.ask(Stop::Starts, || match wait.is_zero() {
                true => mutex.try_lock(),
                false => mutex.try_lock_for(wait),
            });
            gates.lock = got.await?;
            if gates.lock.is_none() {
                return Ok(None);
            }
        }
        if let Some((name, of)) = &policy.limit {
            waiting.for_limit(true);
            let semaphore = client.semaphore(name, *of);
            let semaphore = policy.lease.into_iter().fold(semaphore, cotter::Semaphore::lease);
            let got = context.ask(Stop::Starts, || match wait.is_zero() {
                true => semaphore.try_acquire(),
                false => semaphore.try_acquire_for(wait),
            });
            gates.limit = got.await?;
            if gates.limit.is_none() {
                gates.leave().await;
                return Ok(None);
            }
        }
        Ok(Some(gates))
    }

    /// Completes when one of them is lost.
    pub(super) fn lost(&self) -> impl Future<Output = ()> + use<> {
        let lost = async |signal: Option<LossSignal>| match signal {
            Some(signal) => drop(signal.await),
            None => std::future::pending().await,
        };
        let lock = lost(self.lock.as_ref().map(|guard| guard.lost()));
        let limit = lost(self.limit.as_ref().map(|permit| permit.lost()));
        async move {
            tokio::select! {
                () = lock => {}
                () = limit => {}
            }
        }
    }

    pub(super) fn is_valid(&self) -> bool {
        self.lock.as_ref().is_none_or(|guard| guard.is_valid())
            && self.limit.as_ref().is_none_or(|permit| permit.is_valid())
    }

    /// Gives everything back. Without an answer the leases expire.
    pub(super) async fn leave(self) {
        if let Some(permit) = self.limit {
            let _ = permit.release().await;
        }
        if let Some(guard) = self.lock {
            let _ = guard.release().await;
        }
    }
}

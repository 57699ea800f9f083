//! The contract.

use super::Shared;
use super::acquire::{Order, Tried};
use super::seats::{self, Answers, Seats};
use super::shortage::no_quorum;
use super::waiting::Waiting;
use crate::Result;
use crate::backend::poll;
use crate::backend::{
    Acquired, Admin, Backend, Capabilities, Claim, Extension, Grant, Info, Leave, Level, Notes, Release,
    Until,
};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;

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
        // In errors: what the mode of a member lacks, the quorum lacks.
        let named = members.iter().map(|m| m.info()).find(|info| info.variant != info.scheme);
        info.variant = named.map_or(info.variant, |member| member.variant);
        info.level = members.iter().map(|m| m.info().level).min().unwrap_or(Level::BestEffort);
        info.no_semaphores =
            Some("three clients could each obtain one of two permits from a majority of three servers");
        info.capabilities = Capabilities {
            leases: true,
            shared_session: !all(|c| !c.shared_session),
            names: all(|c| c.names),
            distinct: all(|c| c.distinct),
            keep_for: all(|c| c.keep_for),
            notes: all(|c| c.notes),
            swap: all(|c| c.swap) && members.iter().all(|m| seats::acceptor(&**m).is_ok()),
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

#[async_trait]
impl Backend for Quorum {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        if until == Until::Now {
            return match self.try_once(claim, Order::AllAtOnce).await? {
                Tried::Granted(grant) => Ok(Acquired::Granted(grant)),
                Tried::Failed { acquired, .. } => Ok(acquired),
                Tried::Abstained(error) => Err(error),
            };
        }
        let mut waiting = Waiting::new(self, claim);
        let granted = poll::until(&**self.seats.host.clock(), until, &mut waiting).await?;
        granted.map_or_else(|| waiting.in_vain(), |grant| Ok(Acquired::Granted(grant)))
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        self.extend_all(grants, ttl).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        self.release_all(claim, leave).await
    }

    /// The clock in the middle: a sign of life, and the basis of schedules. A minority of clocks that are wrong must not move
    /// it, so more than a majority is asked for, as far as they answer as soon.
    async fn time(&self) -> Result<Option<SystemTime>> {
        let (seats, majority, reached) = (self.seats.awake(), self.seats.majority(), Notify::new());
        let time = |_, backend: Arc<dyn Backend>| async move { backend.time().await };
        let heard = |answers: &[Option<Result<_>>]| {
            if answers.iter().flatten().filter(|a| a.is_ok()).count() >= majority {
                reached.notify_one();
            }
            false
        };
        let over = self.patience(Duration::MAX, &reached);
        let answers = self.seats.ask_while(&seats, over, time, heard).await;
        let mut times: Vec<_> = self.majority_of(answers)?.into_iter().flatten().collect();
        times.sort_unstable();
        Ok(times.get(times.len().saturating_sub(1) / 2).copied())
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

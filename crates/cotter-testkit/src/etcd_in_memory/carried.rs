//! When a request is carried out, if at all.
//!
//! A request that was accepted is carried out even if nobody waits for its answer any more. The requests of one connection are not
//! ordered. Where the leader changes meanwhile, a write may be lost, or carried out as soon as there is a leader again; a read that
//! needs the leader is refused. One that does not may be answered with what was some revisions ago: another member may be behind.

use super::headers::Answer;
use super::refusals::{leader_changed, no_leader, timed_out};
use super::server::{Leads, Server, State, lock};
use rand::RngExt;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::sleep;
use tonic::Status;

/// What a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Needs {
    /// This member.
    Member,
    /// What it knows, while it knows a leader.
    Knowledge,
    /// The leader, to be asked.
    Leader,
    /// A majority that writes.
    Majority,
}

/// After this time, a server waits no longer for a majority.
const PATIENCE: Duration = Duration::from_secs(7);

impl Server {
    pub(super) async fn carry_out<A: Answer>(
        &self,
        needs: Needs,
        work: impl FnOnce(&mut State) -> Result<A, Status> + Send + 'static,
    ) -> Result<A, Status> {
        if needs == Needs::Member {
            return self.now(work);
        }
        if *self.0.leads.borrow() == Leads::No {
            return Err(no_leader());
        }
        let Some((pause, is_lost)) = self.fate() else { return self.now(work) };
        let this = self.clone();
        let carried = tokio::spawn(async move {
            sleep(pause).await;
            match (needs, this.is_led()) {
                (Needs::Member | Needs::Knowledge, _) | (_, true) => {}
                (Needs::Leader, false) => return Err(leader_changed()),
                (Needs::Majority, false) if is_lost => {
                    sleep(PATIENCE).await;
                    return Err(timed_out());
                }
                (Needs::Majority, false) => this.until_led().await,
            }
            match needs {
                Needs::Knowledge => this.earlier(work),
                _ => this.now(work),
            }
        });
        carried.await.unwrap_or_else(|_| Err(timed_out()))
    }

    fn now<A: Answer>(&self, work: impl FnOnce(&mut State) -> Result<A, Status>) -> Result<A, Status> {
        let mut state = self.state();
        let answer = work(&mut state)?;
        Ok(state.sign(answer))
    }

    /// A member may be behind the others.
    fn earlier<A: Answer>(&self, work: impl FnOnce(&mut State) -> Result<A, Status>) -> Result<A, Status> {
        let behind = self.behind();
        let mut state = self.state();
        let before = state.keys.before(behind);
        let now = std::mem::replace(&mut state.keys, before);
        let answer = work(&mut state);
        state.keys = now;
        Ok(state.sign(answer?))
    }

    /// By how many revisions a member is behind.
    fn behind(&self) -> i64 {
        if !self.0.may_be_behind.load(Ordering::Relaxed) {
            return 0;
        }
        let mut rng = lock(&self.0.rng);
        rng.as_mut().map_or(0, |rng| if rng.random_bool(0.7) { 0 } else { rng.random_range(1..6) })
    }

    fn is_led(&self) -> bool {
        *self.0.leads.borrow() == Leads::Yes
    }

    pub(super) async fn until_led(&self) {
        let _ = self.0.leads.subscribe().wait_for(|leads| *leads == Leads::Yes).await;
    }

    /// How long a request takes, and whether it is lost if the leader is.
    fn fate(&self) -> Option<(Duration, bool)> {
        let mut rng = lock(&self.0.rng);
        let rng = rng.as_mut()?;
        let slow = if rng.random_bool(0.05) { 8 } else { 2 };
        Some((Duration::from_millis(rng.random_range(0..=slow)), rng.random_bool(0.5)))
    }

    /// A watch is begun some time after it was asked for, now and then.
    pub(super) fn before_a_watch(&self) -> Option<Duration> {
        let mut rng = lock(&self.0.rng);
        let rng = rng.as_mut()?;
        rng.random_bool(0.2).then(|| Duration::from_millis(rng.random_range(1..10)))
    }
}

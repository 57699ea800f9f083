//! The resources of a run besides the lock of its job: a worker, a shared lock, a place within a limit.

use super::attempt::next_worker;
use super::context::Halt;
use super::gates::Gates;
use super::hold::Hold;
use super::workers::Worker;
use crate::{Busy, UnixTime};

/// The answer to a request for the resources of a run.
pub(super) enum Room {
    Ready(Worker, Gates),
    /// It took a while: the decision has to be made again.
    Later(Worker, Gates),
    NoWorker,
    /// Something is held by somebody else, and the slot is left to them.
    Busy,
}

impl Hold<'_> {
    /// A worker for the next run, and what else it needs. A hold that has already run something waits for a worker with the lock,
    /// because the backlog is not recorded in the note; others that wait for a worker come first.
    pub(super) async fn room(
        &mut self,
        held: Option<(Worker, Gates)>,
        worker: Option<Worker>,
        now: UnixTime,
    ) -> Result<Room, Halt> {
        if let Some((worker, gates)) = held {
            return Ok(Room::Ready(worker, gates));
        }
        let (worker, is_late) = match (worker.or_else(|| self.context.workers.try_take()), self.started) {
            (Some(worker), _) => (worker, false),
            (None, Some(_)) => (self.wait_for_worker().await?, true),
            (None, None) => return Ok(Room::NoWorker),
        };
        match self.enter(worker).await? {
            Some((worker, gates)) if is_late => Ok(Room::Later(worker, gates)),
            Some((worker, gates)) => Ok(Room::Ready(worker, gates)),
            None if self.snapshot.job.policy.busy == Busy::Skip => Ok(Room::Busy),
            None => self.wait_for_gates(now).await,
        }
    }

    /// Enters what the run needs, if that is free. Otherwise the worker is given back.
    pub(super) async fn enter(&self, worker: Worker) -> Result<Option<(Worker, Gates)>, Halt> {
        let gates = Gates::try_enter(self.context, self.snapshot).await?;
        Ok(gates.map(|gates| (worker, gates)))
    }

    /// Waits with the lock and without a worker. Slots that pass meanwhile are a backlog.
    async fn wait_for_gates(&mut self, now: UnixTime) -> Result<Room, Halt> {
        self.waiting.get_or_insert(now);
        match Gates::enter(self.context, self.snapshot, &self.guard).await? {
            Some(gates) => Ok(Room::Later(self.wait_for_worker().await?, gates)),
            None => Ok(Room::Busy),
        }
    }

    pub(super) async fn wait_for_worker(&self) -> Result<Worker, Halt> {
        tokio::select! {
            lost = self.guard.lost() => Err(Halt::Failed(cotter::Error::from(lost).into())),
            worker = next_worker(self.context, self.snapshot) => worker,
        }
    }
}

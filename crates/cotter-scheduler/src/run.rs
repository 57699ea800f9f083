//! One run, as the work of a job sees it.

use crate::UnixTime;
use cotter::{Client, FencingToken, Guard, LossSignal, Lost};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::watch;

/// One run of a job. Cheap to clone.
///
/// Keep no clone beyond the run: the lock is held for as long as one lives, and no other run of the job starts.
#[derive(Clone)]
pub struct Run {
    pub(crate) slot: UnixTime,
    pub(crate) attempt: u32,
    pub(crate) guard: Arc<Guard>,
    pub(crate) client: Client,
    pub(crate) cancel: watch::Receiver<Option<Why>>,
}

/// Why a run has to stop.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// [`max_run`](crate::Job::max_run) is over.
    MaxRun,
    /// The runner stops, and the grace is over.
    Shutdown,
    /// The lock is lost, or will be in [`stop_within`](crate::Job::stop_within).
    Loss,
}

impl Run {
    /// The instant that this run is for; that of the request for a run that was asked for.
    pub fn slot(&self) -> UnixTime {
        self.slot
    }

    /// 1 for the first attempt at this slot; repetitions after failures and crashes count up.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The fencing token of the lock: larger than that of every run before.
    pub fn token(&self) -> FencingToken {
        self.guard.token()
    }

    /// The lock.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Ok while the lock is held. Call it before each step that must not be done by two.
    ///
    /// # Errors
    /// [`Lost`] says why.
    pub fn check(&self) -> Result<(), Lost> {
        self.guard.check()
    }

    /// Completes when the lock is lost, at its deadline at the latest.
    pub fn lost(&self) -> LossSignal {
        self.guard.lost()
    }

    /// Completes when the run has to stop, and says why. Owned, so that it can be given to another task. The future of the
    /// run is dropped [`stop_within`](crate::Job::stop_within) later, or at the lock's deadline.
    pub fn cancelled(&self) -> impl Future<Output = Why> + Send + 'static + use<> {
        let mut cancel = self.cancel.clone();
        async move {
            match cancel.wait_for(Option::is_some).await.map(|why| *why) {
                Ok(Some(why)) => why,
                // The run is over without having been cancelled.
                _ => std::future::pending().await,
            }
        }
    }

    /// The client that the scheduler works with.
    pub fn client(&self) -> &Client {
        &self.client
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("slot", &self.slot)
            .field("attempt", &self.attempt)
            .field("token", &self.token())
            .finish_non_exhaustive()
    }
}

/// What the work of a job may answer with: nothing, or a `Result` whose error can be shown.
pub trait Outcome: Send + 'static {
    /// The error in words.
    ///
    /// # Errors
    /// The work has failed.
    fn outcome(self) -> Result<(), String>;
}

impl Outcome for () {
    fn outcome(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: fmt::Display + Send + 'static> Outcome for Result<(), E> {
    fn outcome(self) -> Result<(), String> {
        self.map_err(|e| e.to_string())
    }
}

/// The work of a job, whatever its type.
pub(crate) type Action = Arc<dyn Fn(Run) -> Working + Send + Sync>;
/// One run of it.
pub(crate) type Working = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

pub(crate) fn action<W, F>(work: W) -> Action
where
    W: Fn(Run) -> F + Send + Sync + 'static,
    F: Future + Send + 'static,
    F::Output: Outcome,
{
    let work = Arc::new(work);
    Arc::new(move |run| {
        let work = work.clone();
        Box::pin(async move { work(run).await.outcome() })
    })
}

//! The view that the work of a job has of its run.

use crate::UnixTime;
use cotter::{Client, FencingToken, Guard, LossSignal, Lost};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tracing::Span;

/// One run of a job. Cheap to clone.
///
/// Do not keep a clone beyond the run: for as long as one exists, the lock is held, and no other run of the job starts.
#[derive(Clone)]
pub struct Run {
    pub(crate) slot: UnixTime,
    pub(crate) attempt: u32,
    pub(crate) token: u64,
    pub(crate) arguments: Arc<BTreeMap<String, String>>,
    pub(crate) one_shot: Option<Arc<str>>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) client: Client,
    pub(crate) cancel: watch::Receiver<Option<Why>>,
    pub(crate) report: Arc<Mutex<Report>>,
}

/// A run's report about itself for the history.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
}

/// The reason why a run has to stop.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// [`max_run`](crate::Job::max_run) has passed.
    MaxRun,
    /// The scheduler stops, and the grace period has passed.
    Shutdown,
    /// The lock, or something else that the run needs, is lost, or will be in [`stop_within`](crate::Job::stop_within).
    Loss,
    /// The next slot takes its place: [`Concurrency::Replace`](crate::Concurrency::Replace).
    Replaced,
    /// An operator wants it to end: [`Jobs::stop`](crate::Jobs::stop).
    Asked,
}

impl Run {
    /// The maximum length of the output of a run that the history keeps, in bytes.
    pub const MAX_OUTPUT: usize = 1024;

    /// Returns the slot of this run; for a triggered run, the slot that was asked for, or else the time of the request; for a
    /// one-shot run, its time.
    pub fn slot(&self) -> UnixTime {
        self.slot
    }

    /// Returns the number of this attempt: 1, counting up with each further attempt after a failure or crash.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the arguments of the request, if this run was [triggered](crate::Jobs::trigger_with) with some, or those
    /// of a [one-shot run](crate::OneShot).
    pub fn arguments(&self) -> &BTreeMap<String, String> {
        &self.arguments
    }

    /// Returns the id of the [one-shot run](crate::OneShot), the same for all its attempts; `None` if this is not one.
    pub fn one_shot(&self) -> Option<&str> {
        self.one_shot.as_deref()
    }

    /// Returns the fencing token of this run, larger than that of every earlier run and attempt. Let the resource
    /// accept only tokens that are not smaller than the largest one it has seen.
    ///
    /// It is the token of the lock or, if this is not the first run under the same hold of the lock, a larger one,
    /// which the job's note ensures. Any other user of the lock of a job gets tokens that are larger than those of the
    /// runs before, as long as runs take more than a microsecond.
    pub fn token(&self) -> FencingToken {
        self.token.into()
    }

    /// Returns the guard of the lock. Its token may be smaller than that of the [run](Self::token).
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Checks that the lock is held. Call it before each step that must not be done twice.
    ///
    /// # Errors
    /// [`Lost`], with the cause.
    pub fn check(&self) -> Result<(), Lost> {
        self.guard.check()
    }

    /// Returns a signal that completes when the lock is lost, at its deadline at the latest.
    pub fn lost(&self) -> LossSignal {
        self.guard.lost()
    }

    /// Returns a future that completes with the reason when the run has to stop. It is `'static`, so that it can be
    /// moved to another task. The future of the run is dropped [`stop_within`](crate::Job::stop_within) later, or at
    /// the lock's deadline.
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

    /// Returns the reason why the run has to stop, if it has to: [`cancelled`](Self::cancelled) for work that blocks.
    pub fn must_stop(&self) -> Option<Why> {
        *self.cancel.borrow()
    }

    /// Sets the exit code of this run, for the history.
    pub fn set_exit_code(&self, code: i32) {
        self.report().code = Some(code);
    }

    /// Sets the output of this run, for the history: it keeps the last [`MAX_OUTPUT`](Self::MAX_OUTPUT) bytes if the
    /// run does not succeed.
    pub fn set_output(&self, text: impl AsRef<str>) {
        let text = text.as_ref();
        let mut from = text.len().saturating_sub(Self::MAX_OUTPUT);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        text[from..].clone_into(&mut self.report().output);
    }

    /// Returns the span of the work. The subscriber runs in the task of the run.
    pub(crate) fn span(&self, job: &str) -> Span {
        tracing::info_span!(
            "cotter.run",
            job.name = job,
            job.slot = %self.slot,
            job.attempt = self.attempt,
            job.one_shot = self.one_shot(),
            lock.token = self.token,
        )
    }

    fn report(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the client of the scheduler.
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

/// The return types of a job's work: nothing, or a `Result` whose error implements `Display`. It is written as `{:#}` writes it, which
/// with `anyhow` and `eyre` includes the causes.
pub trait Outcome: Send + 'static {
    /// Converts the error to text.
    ///
    /// # Errors
    /// If the work has failed.
    fn outcome(self) -> Result<(), String>;
}

impl Outcome for () {
    fn outcome(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: fmt::Display + Send + 'static> Outcome for Result<(), E> {
    fn outcome(self) -> Result<(), String> {
        self.map_err(|e| format!("{e:#}"))
    }
}

/// The type-erased work of a job.
pub(crate) type Action = Arc<dyn Fn(Run) -> Working + Send + Sync>;
/// The future of one run.
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

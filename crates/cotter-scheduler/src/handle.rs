//! Control of a running scheduler.

use crate::runner::{StoreClock, WorkerPool};
use crate::{Error, ErrorKind, Job, Result, UnixTime};
use std::sync::{Arc, OnceLock};
use tokio::sync::{mpsc, oneshot};

/// A handle to a running [`Scheduler`](crate::Scheduler). Cheap to clone.
#[derive(Debug, Clone)]
pub struct Handle {
    pub(crate) commands: mpsc::UnboundedSender<Command>,
    pub(crate) clock: Arc<StoreClock>,
    pub(crate) group: Arc<str>,
    /// The workers, once the runner handles commands, also after it has stopped.
    pub(crate) pool: Arc<OnceLock<WorkerPool>>,
}

/// The next check of a job.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// The job.
    pub job: Arc<str>,
    /// The time of the check, by the store's clock. `None` if the job waits for something else, such as the end of a pause, or
    /// runs now.
    pub at: Option<UnixTime>,
    /// Whether the job runs in this process, or is about to.
    pub active: bool,
}

/// The workers of a scheduler.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workers {
    /// How many of them run jobs, or are about to.
    pub busy: usize,
    /// How many there are; see [`Scheduler::workers`](crate::Scheduler::workers).
    pub all: usize,
}

/// A request to a runner.
#[derive(Debug)]
pub(crate) enum Command {
    Replace(Vec<Job>, oneshot::Sender<()>),
    Put(Box<Job>, oneshot::Sender<()>),
    Remove(String, oneshot::Sender<bool>),
    Next(oneshot::Sender<Vec<Next>>),
    EndGrace,
}

impl Handle {
    /// Replaces all jobs. Runs in progress are left to end. A job with an unchanged definition is not affected; one that is
    /// new or changed counts as started now, so that it takes precedence over replicas that were started before, unless
    /// their [`generation`](Job::generation) is larger.
    ///
    /// Cancel safety: once polled, the replacement is carried out.
    ///
    /// # Errors
    /// [`ErrorKind::Job`] for invalid jobs (nothing is replaced), or if the scheduler has stopped.
    pub async fn replace(&self, jobs: impl IntoIterator<Item = Job>) -> Result<()> {
        let jobs: Vec<Job> = jobs.into_iter().collect();
        check_all(&jobs, &self.group)?;
        self.ask(|done| Command::Replace(jobs, done)).await
    }

    /// Adds a job, or replaces the one of the same name, as [`replace`](Self::replace) does. The others are not affected.
    ///
    /// A job [on](Job::on) a label that this scheduler does not have is not added; one of that name is removed.
    ///
    /// From then on, only this process has the job: other processes need it too if one of them is to run it when this
    /// one is gone.
    ///
    /// Cancel safety: once polled, it is carried out.
    ///
    /// # Errors
    /// As [`replace`](Self::replace).
    pub async fn put(&self, job: Job) -> Result<()> {
        job.check(&self.group)?;
        self.ask(|done| Command::Put(Box::new(job), done)).await
    }

    /// Removes a job; a run in progress is left to end. Returns whether there was a job with this name. Its state is
    /// kept in the store until it is [forgotten](crate::Jobs::forget).
    ///
    /// Cancel safety: once polled, it is carried out.
    ///
    /// # Errors
    /// [`ErrorKind::Job`] if the scheduler has stopped.
    pub async fn remove(&self, job: &str) -> Result<bool> {
        self.ask(|done| Command::Remove(job.to_owned(), done)).await
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T> {
        let (done, answer) = oneshot::channel();
        let stopped =
            || Error::new(ErrorKind::Job, "the jobs cannot be changed: the scheduler is no longer running");
        self.commands.send(command(done)).map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())
    }

    /// Returns the next check of every job, earliest first; empty if the scheduler has stopped or has not been started.
    pub async fn next(&self) -> Vec<Next> {
        let (done, answer) = oneshot::channel();
        if self.pool.get().is_none() || self.commands.send(Command::Next(done)).is_err() {
            return Vec::new();
        }
        answer.await.unwrap_or_default()
    }

    /// Returns the number of workers, and how many of them are busy; `None` until the scheduler has started.
    pub fn workers(&self) -> Option<Workers> {
        self.pool.get().map(WorkerPool::count)
    }

    /// Ends the grace period of a shutdown: the runs that are left are asked to stop now. Has no effect before the
    /// shutdown.
    pub fn end_grace(&self) {
        // An error means that the runner has stopped.
        let _ = self.commands.send(Command::EndGrace);
    }

    /// Returns the current time by the store's clock, estimated locally without a request.
    pub fn now(&self) -> UnixTime {
        self.clock.now()
    }
}

/// Rejects invalid jobs and duplicate names.
pub(crate) fn check_all(jobs: &[Job], group: &str) -> Result<()> {
    let mut names = std::collections::HashSet::new();
    for job in jobs {
        job.check(group)?;
        if !names.insert(job.name()) {
            return Err(Error::job(job.name(), "two jobs have this name; rename one of them"));
        }
    }
    Ok(())
}

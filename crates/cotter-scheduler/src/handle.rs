//! A runner, seen from the rest of the program.

use crate::runner::StoreClock;
use crate::{Error, ErrorKind, Job, Result, UnixTime};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Speaks to a [`Scheduler`](crate::Scheduler) while it runs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Handle {
    pub(crate) commands: mpsc::UnboundedSender<Command>,
    pub(crate) clock: Arc<StoreClock>,
    pub(crate) group: Arc<str>,
}

/// When a job is looked at next.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// The job.
    pub job: Arc<str>,
    /// When, by the store's clock. `None`: it waits for something else, such as the end of a pause, or runs now.
    pub at: Option<UnixTime>,
    /// Whether a run of it goes on here, or is about to.
    pub active: bool,
}

/// What a runner is asked.
#[derive(Debug)]
pub(crate) enum Command {
    Replace(Vec<Job>, oneshot::Sender<()>),
    Next(oneshot::Sender<Vec<Next>>),
}

impl Handle {
    /// Puts these jobs in the place of all others. Runs that go on are left to end. A job whose definition is the same
    /// goes on as it was; one that is new or differs counts as started now, so it wins over replicas that were started
    /// before, unless their [`generation`](Job::generation) is larger.
    ///
    /// Cancel safety: once polled it is carried out.
    ///
    /// # Errors
    /// [`ErrorKind::Job`] for jobs that cannot work (nothing is replaced), or when the runner has stopped.
    pub async fn replace(&self, jobs: impl IntoIterator<Item = Job>) -> Result<()> {
        let jobs: Vec<Job> = jobs.into_iter().collect();
        check_all(&jobs, &self.group)?;
        let (done, answer) = oneshot::channel();
        let sent = self.commands.send(Command::Replace(jobs, done));
        let stopped =
            || Error::new(ErrorKind::Job, "the jobs cannot be replaced: the scheduler does not run any more");
        sent.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())
    }

    /// When each job is looked at next, in that order; empty when the runner has stopped or has not been started.
    pub async fn next(&self) -> Vec<Next> {
        let (done, answer) = oneshot::channel();
        if self.commands.send(Command::Next(done)).is_err() {
            return Vec::new();
        }
        answer.await.unwrap_or_default()
    }

    /// Now, by the store's clock, as far as it is known here; asks nobody.
    pub fn now(&self) -> UnixTime {
        self.clock.now()
    }
}

/// Refuses jobs that cannot work, alone or together.
pub(crate) fn check_all(jobs: &[Job], group: &str) -> Result<()> {
    let mut names = std::collections::HashSet::new();
    for job in jobs {
        job.check(group)?;
        if !names.insert(job.name()) {
            return Err(Error::job(job.name(), "there are two jobs of this name; give one of them another"));
        }
    }
    Ok(())
}

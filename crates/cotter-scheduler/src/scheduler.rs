//! The runner of a group of jobs.

use crate::event::Observer;
use crate::handle::{Command, check_all};
use crate::runner::{self, Settings, StoreClock};
use crate::{Event, Handle, Job, Result};
use cotter::Client;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Runs the jobs of a group, each slot once across all processes that do the same.
///
/// **Is this what you want?** Yes, for work that has to be done now and then and by one of several replicas: clearing up,
/// sending reports, refreshing what others read. Not, when the work must never be done twice whatever happens (let the
/// resource compare the [token](crate::Run::token)), or when every item needs its own turn (use a queue).
///
/// Before a slot is run its lock `<group>/<job>` is taken; *under the lock* the job's note and the store's clock say
/// which slots are due. The note is written under the lock's token before the run, so that no other replica starts the
/// slot again, and after it.
#[derive(Debug)]
pub struct Scheduler {
    settings: Settings,
    jobs: Vec<Job>,
    clock: Arc<StoreClock>,
    commands: (mpsc::UnboundedSender<Command>, mpsc::UnboundedReceiver<Command>),
}

impl Scheduler {
    /// A scheduler for a group; the locks of its jobs are `<group>/<job>`.
    pub fn new(client: &Client, group: impl AsRef<str>) -> Self {
        Self {
            settings: Settings::new(client, group.as_ref()),
            jobs: Vec::new(),
            clock: Arc::new(StoreClock::new(client)),
            commands: mpsc::unbounded_channel(),
        }
    }

    /// How many runs may go on at once, first come first served. Default: 10; at least 1.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.settings.workers = workers.max(1);
        self
    }

    /// A process whose clock is further off from the store's than this starts nothing until it is well again. Default:
    /// 5 s. Stores without a clock of their own are not compared.
    #[must_use]
    pub fn max_clock_offset(mut self, d: Duration) -> Self {
        self.settings.max_clock_offset = d;
        self
    }

    /// How many runs of each job the store keeps, in at most 16 KiB. Default: 100.
    #[must_use]
    pub fn history(mut self, runs: usize) -> Self {
        self.settings.history = runs;
        self
    }

    /// Who is told what happens, in place of `tracing`. Called in the tasks of the runner: it must not block.
    #[must_use]
    pub fn observe(mut self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.settings.observer = Observer::new(observer);
        self
    }

    /// Adds a job.
    #[must_use]
    pub fn job(mut self, job: Job) -> Self {
        self.jobs.push(job);
        self
    }

    /// Adds several.
    #[must_use]
    pub fn jobs(mut self, jobs: impl IntoIterator<Item = Job>) -> Self {
        self.jobs.extend(jobs);
        self
    }

    /// Speaks to the runner while it runs.
    pub fn handle(&self) -> Handle {
        let (commands, group) = (self.commands.0.clone(), self.settings.group.clone());
        Handle { commands, clock: self.clock.clone(), group }
    }

    /// Runs until `stop` completes. Then nothing new is started, what runs may go on for `grace`, and is told to stop
    /// after that ([`Run::cancelled`](crate::Run::cancelled)); the locks are given back. A run that never yields cannot
    /// be stopped: its lock is kept for as long as the process lives, and this returns all the same.
    ///
    /// Runs in the runtime that polls it. Errors of the store that may pass are waited out, also at the start.
    ///
    /// Cancel safety: dropping it drops the runs where they stand and gives their locks back; their slots then count as
    /// crashed.
    ///
    /// # Errors
    /// [`ErrorKind::Job`](crate::ErrorKind::Job) for jobs that cannot work, [`ErrorKind::NoNotes`](crate::ErrorKind)
    /// where the store keeps no notes, [`ErrorKind::Store`](crate::ErrorKind) when it refuses for good at the start.
    pub async fn run_until(self, stop: impl Future, grace: Duration) -> Result<()> {
        check_all(&self.jobs, &self.settings.group)?;
        let (_, commands) = self.commands;
        runner::run(self.settings, self.clock, self.jobs, commands, stop, grace).await
    }
}

//! The scheduler of a group of jobs.

use crate::handle::{Command, check_all};
use crate::notes::history::MAX_RUNS;
use crate::runner::{self, Settings, StoreClock};
use crate::{Error, ErrorKind, Event, Handle, Job, Label, Result};
use cotter::Client;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Runs the jobs of a group, each slot once across all processes that do the same.
///
/// Use it for periodic work that one of several replicas has to do: clean-up, reports, refreshing a cache. Do not use
/// it if the work must never, under any circumstances, be done twice (let the resource compare the
/// [token](crate::Run::token)), or if every item has to be processed separately (use a queue).
///
/// Before a slot is run, its lock `<group>/<job>` is acquired; *under the lock*, the job's note and the store's clock
/// determine which slots are due. The note is written under the lock's token before the run, so that no other replica
/// starts the slot again, and after it.
#[derive(Debug)]
pub struct Scheduler {
    settings: Settings,
    jobs: Vec<Job>,
    clock: Arc<StoreClock>,
    commands: (mpsc::UnboundedSender<Command>, mpsc::UnboundedReceiver<Command>),
}

impl Scheduler {
    /// The largest number of runs that the history of a job can keep.
    pub const MAX_HISTORY: usize = MAX_RUNS;

    /// Creates a scheduler for a group; the locks of its jobs are `<group>/<job>`.
    pub fn new(client: &Client, group: impl AsRef<str>) -> Self {
        Self {
            settings: Settings::new(client, group.as_ref()),
            jobs: Vec::new(),
            clock: Arc::new(StoreClock::new(client)),
            commands: mpsc::unbounded_channel(),
        }
    }

    /// Sets the maximum number of concurrent runs in this process. A free worker goes to the job with the highest
    /// [priority](Job::priority), and among equals to the one that has waited longest. Default: 10; at least 1.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.settings.workers = workers.max(1);
        self
    }

    /// Sets the maximum difference between this host's clock and the store's; beyond it, this process starts nothing
    /// until the clock is right again. Default: 5 s. On stores that have no clock of their own, it is the maximum difference
    /// between the clocks of the replicas; they do not notice a larger one before a slot is started twice.
    #[must_use]
    pub fn max_clock_offset(mut self, d: Duration) -> Self {
        self.settings.max_clock_offset = d;
        self
    }

    /// Sets the number of runs in the history of each job, at most [`MAX_HISTORY`](Self::MAX_HISTORY). Default: 100.
    #[must_use]
    pub fn history(mut self, runs: usize) -> Self {
        self.settings.history = runs;
        self
    }

    /// Sets the name of this host in the status and the history of jobs. Default: none.
    #[must_use]
    pub fn host(mut self, name: impl Into<String>) -> Self {
        self.settings.host = name.into();
        self
    }

    /// Adds a label of this host. Jobs that are [on](Job::on) a label that it does not have are left to other schedulers: none of
    /// their slots, retries, requests and one-shot runs is taken.
    #[must_use]
    pub fn label(mut self, label: Label) -> Self {
        self.settings.labels.insert(label);
        self
    }

    /// Adds a callback for events, which are also emitted with `tracing`. It is called in the tasks of the scheduler and must
    /// not block.
    #[must_use]
    pub fn observe(mut self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.settings.observers.add(observer);
        self
    }

    /// Adds a job.
    #[must_use]
    pub fn job(mut self, job: Job) -> Self {
        self.jobs.push(job);
        self
    }

    /// Adds several jobs.
    #[must_use]
    pub fn jobs(mut self, jobs: impl IntoIterator<Item = Job>) -> Self {
        self.jobs.extend(jobs);
        self
    }

    /// Returns a handle to the scheduler while it runs.
    pub fn handle(&self) -> Handle {
        let (commands, group) = (self.commands.0.clone(), self.settings.group.clone());
        Handle { commands, clock: self.clock.clone(), group, pool: self.settings.pool.clone() }
    }

    /// Runs until `stop` completes. After that, no more runs are started; running ones may continue for `grace`, or for that of
    /// [their job](crate::Job::grace), and are then asked to stop ([`Run::cancelled`](crate::Run::cancelled)), and the locks are released. A run that never
    /// yields cannot be stopped: its lock is kept for as long as the process lives, and this function returns anyway.
    ///
    /// Runs in the runtime that polls it. Temporary errors of the store are retried, also at the start.
    ///
    /// Cancel safety: dropping it drops the runs at their current await points and releases their locks; their slots then
    /// count as crashed.
    ///
    /// # Errors
    /// [`ErrorKind::Job`](crate::ErrorKind::Job) for invalid jobs, too long a history, or too many labels,
    /// [`ErrorKind::NoNotes`](crate::ErrorKind) if the store keeps no notes, [`ErrorKind::Store`](crate::ErrorKind) for
    /// a permanent error of the store at the start.
    pub async fn run_until(self, stop: impl Future, grace: Duration) -> Result<()> {
        check_all(&self.jobs, &self.settings.group)?;
        if self.settings.history > MAX_RUNS {
            let why = format!(
                "a history of {} runs is too long, at most {MAX_RUNS} are kept",
                self.settings.history
            );
            return Err(Error::new(ErrorKind::Job, why));
        }
        if self.settings.labels.len() > Label::MAX {
            let why = format!("a scheduler can have {} labels, and this one has more", Label::MAX);
            return Err(Error::new(ErrorKind::Job, why));
        }
        let (_, commands) = self.commands;
        runner::run(self.settings, self.clock, self.jobs, commands, stop, grace).await
    }
}

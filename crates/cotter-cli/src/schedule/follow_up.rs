//! `on_success` and `on_failure`: commands that follow the last attempt of a run.
//!
//! They run without the lock, because it may be lost, on the host that records the end of the run or notices that it has
//! crashed. That happens on one host, so that there is at most one command for each end.

use super::event_log::{EventLog, Origin, RunFacts};
use super::file::Spec;
use super::output::Reading;
use super::systemd;
use crate::command::{Launch, run_alone};
use crate::store::Chosen;
use cotter_console::Exit;
use cotter_scheduler::{Ending, Event, EventKind, UnixTime};
use rustix::system::uname;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

/// The maximum duration of a command.
const LIMIT: Duration = Duration::from_secs(60);
/// The maximum number of commands at once, so that an outage that fails all jobs does not start hundreds.
const AT_ONCE: usize = 8;
/// How long the commands may take when cotter stops, and to stop themselves after that.
const LAST: Duration = Duration::from_secs(10);
const STOP_TIMEOUT: Duration = Duration::from_secs(4);

/// Starts the commands.
pub(super) struct FollowUps {
    environment: Vec<(String, String)>,
    log: Arc<EventLog>,
    jobs: Mutex<HashMap<String, Arc<Spec>>>,
    room: Semaphore,
    stop: watch::Sender<bool>,
    /// Each command subscribes to this, so that the end of all can be awaited.
    open: watch::Sender<()>,
}

/// The end of a run that a command follows.
struct End<'a> {
    slot: UnixTime,
    attempt: Option<u32>,
    outcome: &'a Ending,
    took: Option<Duration>,
    facts: RunFacts,
}

impl FollowUps {
    pub(super) fn new(store: &Chosen, log: &Arc<EventLog>) -> Arc<Self> {
        Arc::new(Self {
            environment: store.environment(),
            log: log.clone(),
            jobs: Mutex::default(),
            room: Semaphore::new(AT_ONCE),
            stop: watch::Sender::new(false),
            open: watch::Sender::new(()),
        })
    }

    /// Sets the jobs.
    pub(super) fn set(&self, jobs: &[Spec]) {
        let jobs = jobs.iter().map(|spec| (spec.name.clone(), Arc::new(spec.clone()))).collect();
        *self.jobs.lock().unwrap_or_else(PoisonError::into_inner) = jobs;
    }

    /// Starts what follows an event, given what is known of the command that has ended.
    pub(super) fn event(self: &Arc<Self>, event: &Event, facts: RunFacts) {
        let (Some(job), Some(end)) = (event.job.as_deref(), End::of(&event.kind, facts)) else { return };
        let spec = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).get(job).cloned();
        let environment = [self.environment.clone(), end.environment(job)].concat();
        let succeeded = *end.outcome == Ending::Ok;
        let Some(launch) = spec.and_then(|spec| spec.follow_up(succeeded, environment)) else { return };
        let key = if succeeded { "on_success" } else { "on_failure" };
        let origin = Arc::new(Origin { job: job.to_owned(), slot: end.slot, key: Some(key) });
        let (this, open) = (self.clone(), self.open.subscribe());
        tokio::spawn(async move {
            if let Err(why) = this.run(&origin, launch).await {
                this.log.warning(Some(&origin.job), &format!("{key}: {why}"));
            }
            drop(open);
        });
    }

    async fn run(&self, origin: &Arc<Origin>, launch: Launch) -> Result<(), String> {
        let _room = self.room.acquire().await.expect("never closed");
        let (reading, streams) =
            Reading::start(origin, &self.log).map_err(|error| format!("cannot create a pipe: {error}"))?;
        let launch = Launch { without: systemd::VARIABLES, output: Some(streams), ..launch };
        let mut stop = self.stop.subscribe();
        let stopping = async { drop(stop.wait_for(|stop| *stop).await) };
        let end = run_alone(launch, LIMIT, stopping).await;
        reading.finish().await;
        let status = end.map_err(|failure| failure.message)?;
        match status.map(Exit::of_child).map(Exit::code) {
            Some(0) => Ok(()),
            Some(code) => Err(format!("exit code {code}")),
            None if *self.stop.borrow() => Err("stopped with cotter".to_owned()),
            None => Err(format!("stopped after {} s", LIMIT.as_secs())),
        }
    }

    /// Waits until no command is left; those that take too long are stopped.
    pub(super) async fn finish(&self) {
        if timeout(LAST, self.open.closed()).await.is_err() {
            self.stop.send_replace(true);
            let _ = timeout(STOP_TIMEOUT, self.open.closed()).await;
        }
    }

    /// Stops all commands, and those that are started later.
    pub(super) fn stop_all(&self) {
        self.stop.send_replace(true);
    }
}

impl<'a> End<'a> {
    /// The end of a run that is not repeated. A run that was replaced has neither succeeded nor failed.
    fn of(kind: &'a EventKind, facts: RunFacts) -> Option<Self> {
        match kind {
            EventKind::Ended { slot, attempt, outcome, took, last: true, .. }
                if *outcome != Ending::Replaced =>
            {
                Some(Self { slot: *slot, attempt: Some(*attempt), outcome, took: Some(*took), facts })
            }
            EventKind::Crashed { slot, again: false, .. } => {
                // The command was another process's.
                let facts = RunFacts::default();
                Some(Self { slot: *slot, attempt: None, outcome: &Ending::Crashed, took: None, facts })
            }
            _ => None,
        }
    }

    fn environment(&self, job: &str) -> Vec<(String, String)> {
        let text = |text: &str| text.replace('\0', " ");
        let host = self.took.map(|_| uname().nodename().to_string_lossy().into_owned());
        let all = [
            ("COTTER_JOB", Some(job.to_owned())),
            ("COTTER_SLOT", Some(self.slot.to_string())),
            ("COTTER_ATTEMPT", self.attempt.map(|attempt| attempt.to_string())),
            ("COTTER_OUTCOME", Some(self.outcome.word().to_owned())),
            ("COTTER_REASON", Some(text(self.outcome.reason().unwrap_or_default()))),
            ("COTTER_CODE", self.facts.code.map(|code| code.to_string())),
            ("COTTER_HOST", host),
            ("COTTER_TOOK", self.took.map(|took| format!("{:.3}", took.as_secs_f64()))),
            ("COTTER_OUTPUT", Some(text(&self.facts.output))),
        ];
        let arguments = self.facts.arguments.iter().cloned();
        all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).chain(arguments).collect()
    }
}

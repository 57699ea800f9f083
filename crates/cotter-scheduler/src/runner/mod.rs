//! Runs jobs: waits for the next slot, acquires locks and workers, decides, and runs.
//!
//! | file | concept |
//! |---|---|
//! | `dispatcher` | the main loop |
//! | `agenda` | all jobs, ordered by their next check |
//! | `attempt` | one attempt at a job: its lock, a worker |
//! | `hold` | the work under one hold of the lock |
//! | `room` | a worker and what else a run needs |
//! | `slot` | the runs of one slot |
//! | `gates` | what a run needs besides the lock of its job: a shared lock, a limit |
//! | `waiting` | saying what a run waits for |
//! | `workers` | the pool of workers, by priority |
//! | `one_shots` | one-shot runs: taken, removed |
//! | `execute` | the task of one run, and the reasons to stop it |
//! | `chain` | the jobs that a job follows |
//! | `control` | the requests of operators |
//! | `clock`, `clock_check` | an estimate of the store's clock; its comparison with this host's |
//! | `context` | shared state; requests to a store that may be down |
//! | `standing`, `presence` | jobs for which this process stands by; that it runs at all |
//! | `elsewhere` | jobs that are left to hosts with other labels |
//! | `snapshot` | a job as seen by an attempt, and the result of the attempt |

mod agenda;
mod attempt;
mod chain;
mod clock;
mod clock_check;
mod context;
mod control;
mod dispatcher;
mod elsewhere;
mod execute;
mod gates;
mod hold;
mod one_shots;
mod presence;
mod room;
mod slot;
mod snapshot;
mod standing;
mod waiting;
mod workers;

pub(crate) use clock::StoreClock;
pub(crate) use workers::Workers as WorkerPool;

use crate::event::Observers;
use crate::handle::Command;
use crate::notes::history::USUAL_RUNS;
use crate::notes::roster;
use crate::{Job, Label, Result, label};
use context::{Context, Halt, Stop};
use cotter::Client;
use dispatcher::Dispatcher;
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

/// The settings of a runner.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) client: Client,
    pub(crate) group: Arc<str>,
    pub(crate) workers: usize,
    pub(crate) max_clock_offset: Duration,
    pub(crate) history: usize,
    pub(crate) host: String,
    pub(crate) labels: BTreeSet<Label>,
    pub(crate) observers: Observers,
    /// The workers, once commands are handled.
    pub(crate) pool: Arc<OnceLock<WorkerPool>>,
}

impl Settings {
    pub(crate) fn new(client: &Client, group: &str) -> Self {
        Self {
            client: client.clone(),
            group: group.into(),
            workers: 10,
            max_clock_offset: Duration::from_secs(5),
            history: USUAL_RUNS,
            host: String::new(),
            labels: BTreeSet::new(),
            observers: Observers::default(),
            pool: Arc::default(),
        }
    }

    /// Whether this scheduler has all labels that a job needs. Any other job is at most made known: its slots, retries, requests and
    /// dead runs are for those that have them.
    pub(crate) fn is_for(&self, job: &Job) -> bool {
        job.policy.on.iter().all(|needed| label::has(&self.host, self.labels.iter(), needed.as_str()))
    }
}

/// Runs these jobs until `stop` completes; those that are not for this scheduler are left to others.
pub(crate) async fn run(
    settings: Settings,
    clock: Arc<StoreClock>,
    jobs: Vec<Job>,
    mut commands: UnboundedReceiver<Command>,
    stop: impl Future,
    grace: Duration,
) -> Result<()> {
    let mut stop = pin!(stop);
    let (jobs, others): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| settings.is_for(job));
    let context = Arc::new(Context::new(settings, clock, grace));
    let seen = tokio::select! {
        biased;
        _ = &mut stop => return Ok(()),
        ready = prepare(&context, &jobs) => match ready {
            Ok(seen) => seen,
            Err(Halt::Failed(error)) => return Err(error),
            Err(_) => return Ok(()),
        },
    };
    let mut around = JoinSet::new();
    around.spawn(control::listen(context.clone(), seen));
    around.spawn(clock_check::run(context.clone()));
    around.spawn(presence::run(context.clone()));
    around.spawn(elsewhere::make_known(context.clone(), others));
    let mut dispatcher = Dispatcher::new(&context, jobs);
    let _ = context.settings.pool.set(context.workers.clone());
    dispatcher.run(&mut commands, stop).await;
    dispatcher.stop(&mut commands).await;
    around.shutdown().await;
    presence::end(&context).await;
    Ok(())
}

/// Checks that the store keeps notes, and loads its clock and the requests.
async fn prepare(context: &Context, jobs: &[Job]) -> Result<control::Seen, Halt> {
    let seen = control::load(context).await?;
    context.ask(Stop::Starts, || context.clock.measure()).await?;
    context.is_clock_off();
    context.presence.has(jobs.iter().map(Job::name));
    register(context, jobs).await?;
    Ok(seen)
}

/// Adds the jobs to the list of names, once it is said that this scheduler has them.
async fn register(context: &Context, jobs: &[Job]) -> Result<(), Halt> {
    let _ = presence::say(context).await;
    let names = || jobs.iter().map(Job::name);
    context
        .ask(Stop::Starts, || roster::register(&context.settings.client, &context.settings.group, names()))
        .await
}

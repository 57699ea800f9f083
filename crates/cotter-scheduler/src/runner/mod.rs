//! Runs jobs: waits for the next slot of all of them, takes locks and workers, decides, runs.
//!
//! | file | concept |
//! |---|---|
//! | `conductor` | the loop: what happens when, and in which order |
//! | `agenda` | all jobs in the order in which they are looked at |
//! | `attempt` | one look at a job: its lock, a worker |
//! | `hold` | what is done under one hold of the lock |
//! | `execute` | one run: its task, and what ends it |
//! | `control` | hears what operators ask |
//! | `clock` | the store's clock, as it is known here |
//! | `keeper` | compares the clocks all the time |
//! | `context` | what all tasks share; asking a store that may be down |
//! | `post` | a job as an attempt sees it |

mod agenda;
mod attempt;
mod clock;
mod conductor;
mod context;
mod control;
mod execute;
mod hold;
mod keeper;
mod post;

pub(crate) use clock::StoreClock;

use crate::event::Observer;
use crate::handle::Command;
use crate::notes::roster;
use crate::{Job, Result};
use conductor::Conductor;
use context::{Context, Halt, Stop};
use cotter::Client;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

/// How a runner behaves, from its builder.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) client: Client,
    pub(crate) group: Arc<str>,
    pub(crate) workers: usize,
    pub(crate) max_clock_offset: Duration,
    pub(crate) history: usize,
    pub(crate) observer: Observer,
}

impl Settings {
    pub(crate) fn new(client: &Client, group: &str) -> Self {
        Self {
            client: client.clone(),
            group: group.into(),
            workers: 10,
            max_clock_offset: Duration::from_secs(5),
            history: 100,
            observer: Observer::default(),
        }
    }
}

/// Runs these jobs until `stop` completes.
pub(crate) async fn run(
    settings: Settings,
    clock: Arc<StoreClock>,
    jobs: Vec<Job>,
    commands: UnboundedReceiver<Command>,
    stop: impl Future,
    grace: Duration,
) -> Result<()> {
    let mut stop = pin!(stop);
    let context = Arc::new(Context::new(settings, clock));
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
    around.spawn(keeper::keep(context.clone()));
    let mut conductor = Conductor::new(&context, jobs);
    conductor.conduct(commands, stop).await;
    conductor.stop(grace).await;
    Ok(())
}

/// What has to be known before anything starts: that there are notes, what time it is, what was asked. Answers with the
/// revision of the requests.
async fn prepare(context: &Context, jobs: &[Job]) -> Result<u64, Halt> {
    let seen = control::load(context).await?;
    context.ask(Stop::Starts, || context.clock.measure()).await?;
    context.is_off();
    enlist(context, jobs).await?;
    Ok(seen)
}

/// Makes the jobs known by name to those who list them.
async fn enlist(context: &Context, jobs: &[Job]) -> Result<(), Halt> {
    let names = || jobs.iter().map(Job::name);
    context
        .ask(Stop::Starts, || roster::enlist(&context.settings.client, &context.settings.group, names()))
        .await
}

//! One replica: the job in its own scheduler, as in a service.

use super::table::{Closer, Table, unusable};
use super::{Job, Kind, Replica};
use crate::demo::children::wait_for_start;
use crate::store::Store;
use cotter::Client;
use cotter_console::{Console, Exit, Failure};
use cotter_scheduler::{Run, Scheduler, Trigger};
use std::error::Error;
use std::path::Path;
use std::time::Duration;
use tokio::time::sleep;

/// The grace period of a run when the replica has to stop.
const GRACE: Duration = Duration::from_secs(2);

/// Connects to the store of the lock. Without a lock every replica has its own store.
pub(super) async fn connect(job: &Job, store: &dyn Store, console: &Console) -> Result<Client, Failure> {
    match job.lock {
        Kind::On => store.connect(Client::builder(), console).await,
        Kind::Off => Ok(Client::connect("memory:").await?),
    }
}

pub(in crate::demo) async fn play(
    args: &Replica,
    store: &dyn Store,
    console: &Console,
) -> Result<Exit, Failure> {
    let client = connect(&args.job, store, console).await?;
    Table::open(&args.dir).map_err(unusable)?;
    let Some(ended) = wait_for_start(console)? else { return Ok(Exit::Done) };
    let trigger = Trigger::cron(&args.job.cron()).map_err(|e| Failure::usage(e.to_string()))?;
    let (dir, replica, job) = (args.dir.clone(), args.replica, args.job.clone());
    let work = move |run: Run| {
        let (dir, job) = (dir.clone(), job.clone());
        async move { clear(&dir, replica, &job, &run).await }
    };
    let scheduler =
        Scheduler::new(&client, "demo").job(cotter_scheduler::Job::new("clear-orders", trigger, work));
    let ran = scheduler.run_until(ended, GRACE).await;
    client.close(GRACE).await?;
    ran.map(|()| Exit::Done).map_err(|e| Failure::new(Exit::Unreachable, e.to_string()))
}

/// Reads the overdue orders and closes one after the other.
async fn clear(dir: &Path, replica: u32, job: &Job, run: &Run) -> Result<(), Box<dyn Error + Send + Sync>> {
    let slot = run.slot().seconds();
    let token = (job.lock == Kind::On).then(|| run.token().as_i64());
    let orders = Table::open(dir)?.overdue(slot)?;
    sleep(job.work).await;
    for order in orders {
        run.check()?;
        Table::open(dir)?.close(&order, Closer { replica, slot, token })?;
    }
    Ok(())
}

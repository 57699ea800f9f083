//! The program of one replica: a scheduler with a job of each kind, whose clock may be wrong.
//!
//! | file | concept |
//! |---|---|
//! | `work_log` | the log of the work that was done |

mod work_log;

pub use work_log::{Line, WorkLog};

use crate::shifted_clock::ShiftedClock;
use crate::skewed::{Skew, Skewed};
use crate::timing::FAR;
use cotter::{Client, Lease, file};
use cotter_scheduler::{Job, Misfire, Run, Scheduler, Trigger};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// The group of all replicas.
pub const GROUP: &str = "replicas";
/// Their jobs: one with a fixed rate, one with a cron expression, one with a fixed delay, one for one-shot runs.
pub const JOBS: [&str; 4] = [TICK, CRON, DELAY, ORDERS];
/// The job with a fixed rate.
pub const TICK: &str = "tick";
/// The job that is due each second.
pub const CRON: &str = "cron";
/// The job with a fixed delay.
pub const DELAY: &str = "delay";
/// The job without slots.
pub const ORDERS: &str = "orders";

/// The orders of one replica.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Orders {
    /// Which one it is.
    pub process: u32,
    /// The store: a directory, or the URL of a server.
    pub store: Store,
    /// The file that all replicas append to.
    pub work_log: PathBuf,
    /// How far its time of day is ahead, in milliseconds.
    pub ahead_ms: i64,
    /// The lease of the jobs' locks.
    pub ttl_ms: u64,
    /// Between two slots.
    pub period_ms: u64,
    /// How long a run takes.
    pub work_ms: u64,
}

/// Which store.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Store {
    /// A directory. Its clock is the host's, right for all replicas.
    Directory(PathBuf),
    /// A server with a clock of its own.
    Server(String),
}

/// Does what the first argument orders, in JSON, until its input ends.
///
/// # Errors
/// The orders, the store or the work log cannot be used.
pub fn main() -> Result<(), Box<dyn Error>> {
    let orders: Orders = serde_json::from_str(&std::env::args().nth(1).ok_or("no orders")?)?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(orders))
}

async fn run(orders: Orders) -> Result<(), Box<dyn Error>> {
    let client = connect(&orders).await?;
    let jobs = jobs(&orders)?;
    let (stop, stopped) = oneshot::channel::<()>();
    // The input ends when the harness says so, and also when the harness is gone.
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        drop(stop);
    });
    let process = orders.process;
    let told = move |event: &cotter_scheduler::Event| {
        if std::env::var_os("COTTER_REPLICA_TELLS").is_some() {
            let _ = writeln!(std::io::stderr().lock(), "{process}: {event}");
        }
    };
    let scheduler = jobs.into_iter().fold(Scheduler::new(&client, GROUP), Scheduler::job).observe(told);
    scheduler.run_until(stopped, Duration::from_secs(5)).await?;
    client.close(FAR).await?;
    Ok(())
}

/// As a service would that starts while its store is in trouble.
async fn connect(orders: &Orders) -> cotter::Result<Client> {
    let clock = ShiftedClock::new(orders.ahead_ms);
    let builder = Client::builder().clock(clock).lease(Lease::renewed(Duration::from_millis(orders.ttl_ms)));
    let builder = builder.retry_connect(4 * FAR);
    match &orders.store {
        Store::Server(url) => builder.connect(url).await,
        Store::Directory(path) => {
            let skew = Skew::default();
            skew.set_millis(-orders.ahead_ms);
            builder.connect_to(Skewed::new(file::Store::at(path), &skew)).await
        }
    }
}

fn jobs(orders: &Orders) -> Result<Vec<Job>, Box<dyn Error>> {
    let work_log = Arc::new(WorkLog::open(&orders.work_log, orders.process)?);
    let period = Duration::from_millis(orders.period_ms);
    let triggers = [
        Trigger::fixed_rate(period)?,
        Trigger::cron("* * * * * ?")?,
        Trigger::fixed_delay(period * 2)?,
        Trigger::on_demand(),
    ];
    let takes = Duration::from_millis(orders.work_ms);
    let jobs = JOBS.into_iter().zip(triggers).map(|(name, trigger)| {
        let work_log = work_log.clone();
        let job = Job::new(name, trigger, move |run: Run| work(name, run, work_log.clone(), takes));
        job.misfire(Misfire::All).max_backlog(u32::MAX)
    });
    Ok(jobs.collect())
}

async fn work(job: &'static str, run: Run, log: Arc<WorkLog>, takes: Duration) -> Result<(), String> {
    run.check().map_err(|lost| lost.to_string())?;
    log.write(job, &run, "started").map_err(|e| e.to_string())?;
    tokio::time::sleep(takes).await;
    run.check().map_err(|lost| lost.to_string())?;
    log.write(job, &run, "ended").map_err(|e| e.to_string())
}

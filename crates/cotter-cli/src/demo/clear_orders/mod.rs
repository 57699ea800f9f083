//! `cotter demo clear-orders`: a clean-up job on several replicas.
//!
//! | file | concept |
//! |---|---|
//! | `replica` | what runs in one of them |
//! | `table` | the orders, the goods, and what was closed |
//! | `show` | closings as they come |
//! | `audit` | the separate reader of the tables |

mod audit;
mod replica;
mod show;
mod table;

pub(super) use replica::play;

use super::children::{Children, check_shared, player};
use crate::duration::parse_positive;
use crate::exit::Exit;
use crate::output::{Console, Failure};
use crate::stops::Stops;
use crate::store::Chosen;
use clap::{Args, ValueEnum};
use show::Show;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use table::{Plan, Table};
use tokio::process::Command;
use tokio::time::Instant;

/// How often what is shown is brought up to date.
const UPDATE: Duration = Duration::from_millis(50);
/// How much longer than planned the replicas get, in slots. After that the audit says what is undone.
const LATE: u32 = 30;

/// A clean-up job on several replicas: orders that were not paid in time are closed, and their goods go back on sale
///
/// The orders are a SQLite file, outside of the lock and of the store. Every replica is a process of its own with the
/// same job file in its head: a cron job that reads which orders are overdue and closes one after the other, without a
/// look at what others do. In the end an audit reads the tables: every overdue order was closed once, its goods went
/// back once, and nothing else was touched.
///
/// Exits with 0 when the audit is clean and with 1 when it found something, as it does with `--lock off`.
#[derive(Debug, Args)]
pub(super) struct ClearOrders {
    /// How many processes run the job
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    replicas: u32,
    /// How many orders get overdue for each time the job runs
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    orders: u32,
    /// How many times it runs
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    slots: u32,
    #[command(flatten)]
    job: Job,
}

/// What the replicas have to know too.
#[derive(Debug, Clone, Args)]
struct Job {
    /// The lock around a run; the rest is the same
    #[arg(long, value_name = "KIND", default_value = "on")]
    lock: Kind,
    /// How often the job runs: 1s to 30s, a divisor of a minute; 10s is the cron expression 0/10 * * ? * *
    #[arg(long, value_name = "DUR", default_value = "1s", allow_hyphen_values = true, value_parser = parse_every)]
    every: Duration,
    /// How long a run takes between reading and closing
    #[arg(long, value_name = "DUR", default_value = "50ms", allow_hyphen_values = true, value_parser = parse_positive)]
    work: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// The store's: one replica runs each slot
    On,
    /// One for each replica alone: all of them run each slot
    Off,
}

/// One replica: says when it is ready, starts at a word, stops when its standard input ends.
#[derive(Debug, Args)]
pub(super) struct Replica {
    #[arg(long)]
    dir: PathBuf,
    #[arg(long)]
    replica: u32,
    #[command(flatten)]
    job: Job,
}

fn parse_every(text: &str) -> Result<Duration, String> {
    let every = parse_positive(text)?;
    let fits = every.subsec_nanos() == 0 && (1..=30).contains(&every.as_secs()) && 60 % every.as_secs() == 0;
    fits.then_some(every).ok_or_else(|| "write 1s, 2s, 3s, 4s, 5s, 6s, 10s, 12s, 15s, 20s or 30s".to_owned())
}

impl Job {
    fn cron(&self) -> String {
        format!("0/{} * * ? * *", self.every.as_secs())
    }

    /// The same for the command line of another process.
    fn words(&self) -> Vec<String> {
        let kind = self.lock.to_possible_value().map(|kind| format!("--lock={}", kind.get_name()));
        let every = format!("--every={}s", self.every.as_secs());
        kind.into_iter().chain([every, format!("--work={}us", self.work.as_micros())]).collect()
    }
}

pub(super) async fn run(args: &ClearOrders, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let mut stops = Stops::listen()?;
    if args.job.lock == Kind::On {
        check_shared(store, "--replicas", args.replicas)?;
    }
    // Whatever keeps the store from being used is said once, not by every process.
    let client = replica::connect(&args.job, store, console).await?;
    client.note("demo/clear-orders").await?;
    client.close(Duration::from_secs(2)).await?;
    let dir = tempfile::Builder::new().prefix("cotter-clear-orders-").tempdir()?;
    let plan = Plan { slots: args.slots, orders: args.orders, every: args.job.every };
    let table = Table::create(dir.path(), &plan)?;
    let commands = processes(args, store, dir.path())?;
    let mut children = tokio::select! {
        children = Children::start(commands) => children?,
        signal = stops.next() => return Ok(Exit::Interrupted(signal)),
    };
    table.begin(SystemTime::now())?;
    let mut show = Show::new(console, plan.overdue());
    children.begin().await?;
    let end = Instant::now() + args.job.every * (args.slots + LATE);
    let look = || {
        show.update(&table)?;
        let is_over = table.is_clear(SystemTime::now())? || Instant::now() >= end;
        Ok(if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    if let Some(signal) = children.attend(&mut stops, UPDATE, look).await? {
        return Ok(Exit::Interrupted(signal));
    }
    show.update(&table)?;
    drop(show);
    let verdict = audit::read(dir.path(), args.replicas)?;
    verdict.print(console)?;
    Ok(if verdict.is_clean() { Exit::Done } else { Exit::Unclean })
}

/// The commands of the replicas.
fn processes(args: &ClearOrders, store: &Chosen, dir: &Path) -> Result<Vec<Command>, Failure> {
    let process = |replica: u32| {
        let mut command = player("replica", store)?;
        command.arg("--dir").arg(dir).args(["--replica", &replica.to_string()]).args(args.job.words());
        Ok(command)
    };
    (1..=args.replicas).map(process).collect()
}

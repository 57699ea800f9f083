//! `cotter demo clear-orders`: a clean-up job on several replicas.
//!
//! | file | concept |
//! |---|---|
//! | `replica` | one replica |
//! | `table` | the orders, the items, and the closings |
//! | `show` | output of closings |
//! | `audit` | the audit of the tables |
//! | `same_database/` | orders in the database of the store, and what protects them |

mod audit;
mod replica;
mod same_database;
mod show;
mod table;

pub(super) use replica::play;
pub(super) use same_database::{Holder, play as play_holder};

use super::children::{Children, check_shared, demo_process};
use crate::store::Store;
use clap::{Args, ValueEnum};
use cotter_console::duration::{exact, parse_positive};
use cotter_console::{Console, Exit, Failure, StopSignals};
use show::Show;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use table::{Plan, Table, unusable};
use tokio::process::Command;
use tokio::time::Instant;

/// The interval between updates of the output.
const UPDATE_INTERVAL: Duration = Duration::from_millis(50);
/// How much longer than planned the replicas may take, in slots. After that the audit reports what is left.
const MAX_EXTRA_SLOTS: u32 = 30;

/// A clean-up job on several replicas: unpaid orders are closed, and their items are returned to stock
///
/// The orders are in a SQLite file, independent of the lock and of the store. Every replica is a separate process with
/// the same cron job, which reads the overdue orders and closes one after the other, regardless of other replicas. At the
/// end, an audit reads the tables: every overdue order was closed once, its items were returned once, and nothing else
/// was touched.
///
/// With `--same-database` the orders are in tables of the store's own database, which are dropped afterwards. The first
/// replica reads the orders and then pauses for longer than its lease; another one takes over and closes them; then the
/// first one continues. A third of the orders is protected by nothing but the lock, a third by the fencing token, and a
/// third by a row lock in the transaction that closes them (on SQLite, by a write transaction).
///
/// Exits with 0 if the audit is clean and with 1 if it has findings, as with `--lock off`.
#[derive(Debug, Args)]
pub(super) struct ClearOrders {
    /// Show the fencing token and the row lock side by side, on postgres:, mysql: or sqlite:
    #[arg(long, conflicts_with_all = ["slots", "lock", "every", "work"])]
    same_database: bool,
    /// The number of processes that run the job
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    replicas: u32,
    /// The number of orders that become overdue per run of the job
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    orders: u32,
    /// The number of runs of the job
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    slots: u32,
    #[command(flatten)]
    job: Job,
}

/// The options that are passed on to the replicas.
#[derive(Debug, Clone, Args)]
struct Job {
    /// The lock around a run; everything else is the same
    #[arg(long, value_name = "KIND", default_value = "on")]
    lock: Kind,
    /// How often the job runs: 1s to 30s, a divisor of a minute; 10s is the cron expression 0/10 * * ? * *
    #[arg(long, value_name = "DUR", default_value = "1s", allow_hyphen_values = true, value_parser = parse_every)]
    every: Duration,
    /// The time between reading and closing
    #[arg(long, value_name = "DUR", default_value = "50ms", allow_hyphen_values = true, value_parser = parse_positive)]
    work: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// The lock of the store: one replica runs each slot
    On,
    /// A separate lock for each replica: all of them run each slot
    Off,
}

/// One replica.
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

    /// The options as arguments of another process.
    fn words(&self) -> Vec<String> {
        let kind = self.lock.to_possible_value().map(|kind| format!("--lock={}", kind.get_name()));
        let every = format!("--every={}s", self.every.as_secs());
        kind.into_iter().chain([every, format!("--work={}", exact(self.work))]).collect()
    }
}

pub(super) async fn run(args: &ClearOrders, store: &dyn Store, console: &Console) -> Result<Exit, Failure> {
    if args.same_database {
        return same_database::run(args, store, console).await;
    }
    let mut stops = StopSignals::listen()?;
    if args.job.lock == Kind::On {
        check_shared(store, "--replicas", args.replicas)?;
    }
    // Problems of the store are reported once here, not by every process.
    let client = replica::connect(&args.job, store, console).await?;
    client.note("demo/clear-orders").await?;
    client.close(Duration::from_secs(2)).await?;
    let dir = super::folder("cotter-clear-orders-")?;
    let plan = Plan { slots: args.slots, orders: args.orders, every: args.job.every };
    let table = Table::create(dir.path(), &plan).map_err(unusable)?;
    let commands = processes(args, store, dir.path())?;
    let mut children = tokio::select! {
        children = Children::start(commands) => children?,
        signal = stops.next() => return Ok(Exit::Interrupted(signal)),
    };
    table.begin(SystemTime::now()).map_err(unusable)?;
    let mut show = Show::new(console, plan.overdue());
    children.begin().await?;
    let end = Instant::now() + args.job.every * (args.slots + MAX_EXTRA_SLOTS);
    let look = || {
        show.update(&table)?;
        let is_over = table.is_clear(SystemTime::now()).map_err(unusable)? || Instant::now() >= end;
        Ok(if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    if let Some(signal) = children.watch(&mut stops, UPDATE_INTERVAL, look).await? {
        return Ok(Exit::Interrupted(signal));
    }
    show.update(&table)?;
    drop(show);
    let verdict = audit::read(dir.path(), args.replicas)?;
    verdict.print(console)?;
    Ok(if verdict.is_clean() { Exit::Done } else { Exit::Unclean })
}

/// The commands of the replica processes.
fn processes(args: &ClearOrders, store: &dyn Store, dir: &Path) -> Result<Vec<Command>, Failure> {
    let process = |replica: u32| {
        let mut command = demo_process("replica", store)?;
        command.arg("--dir").arg(dir).args(["--replica", &replica.to_string()]).args(args.job.words());
        Ok(command)
    };
    (1..=args.replicas).map(process).collect()
}

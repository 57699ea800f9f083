//! `cotter demo seckill`: a flash sale.
//!
//! | file | concept |
//! |---|---|
//! | `buyers` | one process of buyers |
//! | `lock`, `check_then_del`, `without_redis` | the lock, and the broken one, which only Redis has |
//! | `stock` | the number that has to be protected |
//! | `log` | the append-only log |
//! | `show` | output of sales |
//! | `audit`, `checks` | the audit of the log; its checks |

mod audit;
#[cfg(test)]
mod audit_tests;
mod buyers;
#[cfg_attr(not(feature = "redis"), path = "without_redis.rs")]
mod check_then_del;
mod checks;
mod lock;
mod log;
mod show;
mod stock;

pub(super) use buyers::play;

use super::children::{Children, check_shared, demo_process};
use crate::store::Store;
use clap::{Args, ValueEnum};
use cotter_console::duration::{exact, parse_positive};
use cotter_console::{Console, Exit, Failure, StopSignals};
use lock::Lock;
use log::Log;
use show::Show;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;
use stock::Stock;
use tokio::process::Command;

/// A flash sale: many buyers, few items, and a stock that is read, decremented and written back
///
/// The stock is a plain file, independent of the lock and of the store. Buyers are tasks in several processes; each tries
/// once and learns what it bought, or that the item is sold out. All answers go to an append-only log, and at the end, an
/// audit reads that log: exactly the stock was sold, in order, with increasing tokens (if the lock has tokens), and every
/// other buyer was told "sold out".
///
/// Exits with 0 if the audit is clean and with 1 if it has findings, as with `--lock off`.
#[derive(Debug, Args)]
pub(super) struct Seckill {
    /// The number of buyers
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    buyers: u32,
    /// The number of items in stock
    #[arg(long, value_name = "N", default_value_t = 10)]
    stock: u32,
    /// The number of buyer processes
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    processes: u32,
    #[command(flatten)]
    sale: Sale,
}

/// The options that are passed on to the buyers' processes.
#[derive(Debug, Clone, Args)]
struct Sale {
    /// The lock around the sale; everything else is the same
    #[arg(long, value_name = "KIND", default_value = "on")]
    lock: Kind,
    /// What is sold; the lock is named after it
    #[arg(long, value_name = "TEXT", default_value = "iPhone 7")]
    item: String,
    /// The lease, which is then not renewed [default: 30s, renewed; 50ms with check-then-del]
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_positive)]
    ttl: Option<Duration>,
    /// The time between reading and writing the stock [default: 10ms; with check-then-del 2/5 of the lease]
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_positive)]
    work: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// The lock of the store
    On,
    /// No lock: the sale oversells
    Off,
    /// On Redis: SET NX PX, released with GET, a pause, and DEL, possibly of somebody else's lock
    CheckThenDel,
}

/// One process of buyers.
#[derive(Debug, Args)]
pub(super) struct Buyers {
    #[arg(long)]
    dir: PathBuf,
    #[arg(long)]
    process: u32,
    #[arg(long)]
    first: u32,
    #[arg(long)]
    count: u32,
    #[command(flatten)]
    sale: Sale,
}

impl Sale {
    const WORK: Duration = Duration::from_millis(10);

    fn work(&self) -> Duration {
        let usual = match self.lock {
            Kind::CheckThenDel => self.short_lease().mul_f64(0.4),
            Kind::On | Kind::Off => Self::WORK,
        };
        self.work.unwrap_or(usual)
    }

    /// The options as arguments of another process.
    fn words(&self) -> Vec<String> {
        let kind = self.lock.to_possible_value().map(|kind| format!("--lock={}", kind.get_name()));
        let item = format!("--item={}", self.item);
        let ttl = self.ttl.map(|ttl| format!("--ttl={}", exact(ttl)));
        let work = self.work.map(|work| format!("--work={}", exact(work)));
        kind.into_iter().chain([item]).chain(ttl).chain(work).collect()
    }

    /// The lease of the broken lock.
    fn short_lease(&self) -> Duration {
        self.ttl.unwrap_or(Duration::from_millis(50))
    }
}

/// The interval between updates of the output.
const UPDATE_INTERVAL: Duration = Duration::from_millis(20);

pub(super) async fn run(args: &Seckill, store: &dyn Store, console: &Console) -> Result<Exit, Failure> {
    let mut stops = StopSignals::listen()?;
    if args.sale.lock == Kind::On {
        check_shared(store, "--processes", args.processes)?;
    }
    // Problems of the store are reported once here, not by every process.
    Lock::open(&args.sale, store, console).await?.close().await;
    let dir = super::folder("cotter-seckill-")?;
    Stock::new(dir.path()).write(args.stock)?;
    Log::open(dir.path())?;
    let commands = processes(args, store, dir.path())?;
    let mut show = Show::new(args, console, dir.path())?;
    let mut children = tokio::select! {
        children = Children::start(commands) => children?,
        signal = stops.next() => return Ok(Exit::Interrupted(signal)),
    };
    children.begin().await?;
    let look = || show.update().map(ControlFlow::Continue);
    if let Some(signal) = children.watch(&mut stops, UPDATE_INTERVAL, look).await? {
        return Ok(Exit::Interrupted(signal));
    }
    show.update()?;
    drop(show);
    let report = audit::read(&fs::read(log::path(dir.path()))?, args.buyers, args.stock);
    report.print(console)?;
    Ok(if report.is_clean() { Exit::Done } else { Exit::Unclean })
}

/// The commands of the buyers' processes.
fn processes(args: &Seckill, store: &dyn Store, dir: &Path) -> Result<Vec<Command>, Failure> {
    let count = args.processes.min(args.buyers);
    let process = |process: u32| {
        let first = share(args.buyers, count, process) + 1;
        let end = share(args.buyers, count, process + 1) + 1;
        let mut command = demo_process("buyers", store)?;
        command.arg("--dir").arg(dir);
        for (option, number) in [("--process", process + 1), ("--first", first), ("--count", end - first)] {
            command.args([option, &number.to_string()]);
        }
        command.args(args.sale.words());
        Ok(command)
    };
    (0..count).map(process).collect()
}

/// The first buyer of a process, from 0.
fn share(buyers: u32, processes: u32, process: u32) -> u32 {
    let before = u64::from(buyers) * u64::from(process) / u64::from(processes);
    u32::try_from(before).unwrap_or(buyers)
}

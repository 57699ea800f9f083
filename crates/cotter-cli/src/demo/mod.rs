//! `cotter demo`: what a lock is good for, to be seen.
//!
//! | file | concept |
//! |---|---|
//! | `seckill` | the sale: starts the buyers' processes, shows, has it audited |
//! | `children` | those processes, from the start to the last of them |
//! | `buyers` | what runs in one of them |
//! | `lock`, `check_then_del` | the lock, and the broken one |
//! | `stock` | the number that wants to be protected |
//! | `log` | the append-only log |
//! | `show` | sales as they come |
//! | `audit` | the separate reader of the log |

mod audit;
mod buyers;
mod check_then_del;
mod children;
mod lock;
mod log;
mod seckill;
mod show;
mod stock;

use crate::duration::parse_positive;
use crate::exit::Exit;
use crate::output::{Console, Failure};
use crate::store::Chosen;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Show what a lock is good for
#[derive(Debug, Args)]
pub(crate) struct Demo {
    #[command(subcommand)]
    play: Play,
}

#[derive(Debug, Subcommand)]
enum Play {
    Seckill(Seckill),
    #[command(hide = true)]
    Buyers(Buyers),
}

/// A flash sale: many buyers, few goods, and a stock that is read, counted down and written back
///
/// The stock is a plain file, outside of the lock and of the store. Buyers are tasks in several processes; each tries
/// once and is told what it bought or that all is sold out. All answers go to an append-only log, and in the end an
/// audit reads that log: exactly the stock was sold, in order, with rising tokens (where the lock gives some), and
/// every other buyer was told so.
///
/// Exits with 0 when the audit is clean and with 1 when it found something, as it does with `--lock off`.
#[derive(Debug, Args)]
struct Seckill {
    /// How many want one
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    buyers: u32,
    /// How many there are
    #[arg(long, value_name = "N", default_value_t = 10)]
    stock: u32,
    /// Over how many processes the buyers are spread
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    processes: u32,
    #[command(flatten)]
    sale: Sale,
}

/// What the processes of the buyers have to know too.
#[derive(Debug, Clone, Args)]
struct Sale {
    /// The lock around the sale; the rest is the same
    #[arg(long, value_name = "KIND", default_value = "on")]
    lock: Kind,
    /// What is sold; the lock is named after it
    #[arg(long, value_name = "TEXT", default_value = "iPhone 7")]
    item: String,
    /// A lease of so long that is not renewed [default: 30s, renewed; 50ms with check-then-del]
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_positive)]
    ttl: Option<Duration>,
    /// How long a sale takes between reading the stock and writing it [default: 10ms; with check-then-del 2/5 of the
    /// lease]
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_positive)]
    work: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// The store's
    On,
    /// None: it sells more than there is
    Off,
    /// On Redis: SET NX PX, and for the release GET, a pause, and DEL, of what may be somebody else's lock by then
    CheckThenDel,
}

/// One process of buyers: says when it is ready, starts at a word, stops when its standard input ends.
#[derive(Debug, Args)]
struct Buyers {
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

    /// The lease of the broken lock.
    fn short_lease(&self) -> Duration {
        self.ttl.unwrap_or(Duration::from_millis(50))
    }
}

/// Runs what was asked for.
pub(crate) async fn run(demo: &Demo, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    match &demo.play {
        Play::Seckill(args) => seckill::run(args, store, console).await,
        Play::Buyers(args) => buyers::run(args, store, console).await,
    }
}

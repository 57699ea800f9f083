//! The arguments, and what they ask for.

use crate::client;
use crate::judge::Needed;
use crate::{check, run};
use clap::{Args, Subcommand};
use cotter::Client;
use cotter_console::duration::parse_positive;
use cotter_console::{Console, Exit, Failure};
use std::path::PathBuf;
use std::time::Duration;

/// Prove a lock on this deployment
///
/// Processes contend for a few names under a random prefix of the store, while they are paused for longer than the ttl of their
/// locks, killed, and started again. The server is never touched; --during runs a failover of your own meanwhile. What each process
/// believes to hold is recorded, and judged: no two believe to hold one name at once, tokens rise, nobody waits for a name
/// that is free, and nothing is left behind.
///
/// Exits with 0 if the run has passed, with 1 if something was wrong, and with 75 if too little happened to prove anything.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Verify {
    #[command(subcommand)]
    command: Option<Part>,
    #[command(flatten)]
    pub(crate) plan: Plan,
    #[command(flatten)]
    pub(crate) report: Report,
}

/// What happens in a run.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// How long the processes contend
    #[arg(long, value_name = "DUR", default_value = "30s", allow_hyphen_values = true, value_parser = parse_positive)]
    pub(crate) time: Duration,
    /// The number of processes
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub(crate) holders: u32,
    /// The number of names that they contend for
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) names: u32,
    /// Contend for semaphores: up to N processes hold a name at once; fewer than there are
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=999))]
    pub(crate) permits: u32,
    /// The ttl of the locks; pauses are longer
    #[arg(long, value_name = "DUR", default_value = "2s", allow_hyphen_values = true, value_parser = parse_positive)]
    pub(crate) ttl: Duration,
    /// The longest time for which a process works under a lock, unless it is paused
    #[arg(long, value_name = "DUR", default_value = "100ms", allow_hyphen_values = true, value_parser = parse_positive)]
    pub(crate) work: Duration,
    /// How long a process may wait for a name that nobody holds [default: 10s plus three times the ttl]
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_positive)]
    pub(crate) patience: Option<Duration>,
    /// Neither pause nor kill anybody
    #[arg(long)]
    pub(crate) no_faults: bool,
    /// Run CMD in a shell after half of the time, such as a failover of the store
    #[arg(long, value_name = "CMD")]
    pub(crate) during: Option<String>,
    /// Start the processes as CMD in a shell, instead of cotter's own; docs/verify.md has their protocol
    #[arg(long, value_name = "CMD")]
    pub(crate) client: Option<String>,
}

/// What is judged and reported, of a run or of a history from elsewhere.
#[derive(Debug, Clone, Args)]
pub(crate) struct Report {
    /// Write the history to FILE, as lines of JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) judgement: Judgement,
}

/// How it is judged, and drawn.
#[derive(Debug, Clone, Args)]
pub(crate) struct Judgement {
    /// Draw who believed what, and when, into FILE, as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// The run is void if fewer acquisitions had to wait for another process
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) min_contended: usize,
    /// The run is void if fewer holders were paused for longer than the ttl, or killed [default: 2, or 0 with --no-faults]
    #[arg(long, value_name = "N")]
    pub(crate) min_faults: Option<usize>,
}

impl Judgement {
    pub(crate) fn needed(&self, default_faults: usize) -> Needed {
        Needed { contended: self.min_contended, faults: self.min_faults.unwrap_or(default_faults) }
    }
}

#[derive(Debug, Subcommand)]
enum Part {
    Check(check::Check),
    #[command(hide = true)]
    Holder(client::Holder),
    #[command(hide = true)]
    Foreign(client::Foreign),
}

/// The store that the command line has chosen.
#[derive(Debug)]
pub struct Store {
    /// A connection, unless the processes are not cotter's.
    pub client: Option<Client>,
    /// The URL with its password: only for the environment of further processes of this program.
    pub secret_url: String,
    /// The URL without it.
    pub public_url: String,
    /// The environment of other programs.
    pub environment: Vec<(String, String)>,
}

impl Verify {
    /// Whether it uses no store at all.
    #[must_use]
    pub fn is_without_store(&self) -> bool {
        matches!(self.command, Some(Part::Check(_) | Part::Foreign(_)))
    }

    /// Whether it connects to the store. Called before anything else: a process of a run ends with the run from now on.
    ///
    /// # Errors
    /// The run has ended already.
    pub fn begin(&self) -> Result<bool, Failure> {
        if matches!(self.command, Some(Part::Holder(_))) {
            client::end_with_parent()?;
        }
        Ok(self.plan.client.is_none() || self.command.is_some())
    }

    /// Does what needs no store.
    ///
    /// # Errors
    /// What the command fails with.
    pub fn run_without_store(&self, console: &Console) -> Result<Exit, Failure> {
        match &self.command {
            Some(Part::Check(args)) => check::run(args, console),
            Some(Part::Foreign(args)) => Err(client::become_foreign(args)),
            _ => unreachable!("asked before"),
        }
    }

    /// Runs it on this store.
    ///
    /// # Errors
    /// What the command fails with.
    pub async fn run(&self, store: &Store, console: &Console) -> Result<Exit, Failure> {
        match (&self.command, &store.client) {
            (Some(Part::Holder(args)), Some(connected)) => client::hold(args, connected).await,
            _ => run::run(self, store, console).await,
        }
    }
}

//! The arguments of `cotter run`.

use super::wait_options::WaitOptions;
use crate::exit_codes;
use clap::Args;
use cotter_console::duration::parse_positive;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Run a command while holding a lock
///
/// Waits for the lock NAME, runs CMD while holding it, releases it, and exits with the exit code of CMD.
///
/// CMD runs in its own process group, with COTTER_NAME, COTTER_TOKEN and COTTER_URL in its environment. Each holder's
/// token is larger than the one before: make whatever CMD writes to reject smaller tokens (not with --limit). TERM, INT,
/// HUP, QUIT, USR1 and USR2 are forwarded to the group; those that were ignored when cotter was started, as HUP is under
/// nohup, stay ignored. When CMD has ended, any processes that it left running, including
/// daemons, are stopped before the lock is released.
///
/// When the lock is about to be lost, --max-hold is reached, or cotter is killed, every process that CMD started is
/// stopped: first with TERM, then with KILL after a grace period of a quarter of the ttl, but at least 100 ms and at most
/// 5 s.
///
/// On a terminal, Ctrl-C and Ctrl-Z reach CMD and any script that runs cotter: if CMD dies of Ctrl-C, so does cotter.
/// While a job is stopped with Ctrl-Z, its lock is not renewed: if the store's locks have a ttl, the lock is lost when
/// the ttl runs out, and CMD is killed.
#[derive(Debug, Args)]
#[command(after_long_help = exit_codes::table("run"))]
pub(crate) struct Run {
    /// Take a shared lock, which several holders can hold at once
    ///
    /// Shared holders run concurrently and exclude exclusive ones. Both kinds are served in order of arrival, so neither
    /// starves. Stores without shared locks refuse this option.
    #[arg(short, long)]
    pub(crate) shared: bool,
    /// Take a permit: at most N runs with this name at a time
    ///
    /// All runs that use NAME at the same time must give the same N; a run with a different N exits with 65, as does one
    /// that uses NAME as a lock. Permits are granted in order of arrival. Stores without permits refuse this option.
    #[arg(long, value_name = "N", conflicts_with_all = ["shared", "slot"], value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// Take K of the N permits, all at once [default: 1]
    #[arg(long, value_name = "K", requires = "limit", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) take: Option<u32>,
    #[command(flatten)]
    pub(crate) wait_options: WaitOptions,
    /// How long the lock outlives a cotter process that has died or lost its connection
    ///
    /// The lock is renewed every third of this time. The ttl must be at least three grace periods (see above), so that CMD
    /// can be stopped in time; less than 300ms is rejected. Locks tied to the process (file:) are released immediately.
    #[arg(long, value_name = "DUR", default_value = "30s", allow_hyphen_values = true, value_parser = parse_positive)]
    pub(crate) ttl: Duration,
    /// Stop CMD after this time
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_positive)]
    pub(crate) max_hold: Option<Duration>,
    /// The time between TERM and KILL [default: a quarter of the ttl, at least 100ms, at most 5s]
    ///
    /// The ttl must be at least three times as long.
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_positive)]
    pub(crate) grace: Option<Duration>,
    /// Keep the lock for at least this time, even if CMD ends sooner
    ///
    /// Where locks are tied to the process (file:), cotter keeps running until then.
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_positive)]
    pub(crate) at_least: Option<Duration>,
    /// Run CMD only if it has not already succeeded with this key
    ///
    /// A key identifies one run of a job, for example 2031-05-02 or v1.4. If CMD exits with 0, the key is stored with the
    /// lock; later runs with the same key exit with 0 without running CMD. The last 1000 keys are kept. The store must be
    /// set explicitly: the default, file:, is a different store on each host.
    #[arg(long, value_name = "KEY", conflicts_with = "shared", value_parser = super::once::parse)]
    pub(crate) slot: Option<String>,
    /// Write a report to FILE as one JSON object; - means standard output
    ///
    /// Its fields are `name`, `outcome` (exited, done_before, busy, interrupted, lost, max_hold, not_started or failed),
    /// `code`, `signal`, `token`, `waited_ms`, `held_ms`, and `error`. A regular file is replaced atomically; a pipe or device
    /// is written to.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Write figures to FILE for Prometheus when the run is over, as node_exporter collects them from *.prom files
    ///
    /// When it ended and when it last succeeded, its outcome and exit code, and how long the lock was waited for and held. FILE
    /// is replaced; each NAME needs one of its own, which also keeps the time of the last success.
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics: Option<PathBuf>,
    /// A label for the holder, shown to others along with its host and process
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Run `sh -c 'CMD ARG…'`: CMD and its arguments, joined by spaces, form a shell script
    #[arg(long)]
    pub(crate) shell: bool,
    /// For `cotter elect`.
    #[arg(skip)]
    pub(crate) leading: Option<super::Leading>,
    /// For `cotter elect --again`, which repeats runs that fail.
    #[arg(skip)]
    pub(crate) is_asked_again: bool,
    /// The name of the lock: 1 to 512 bytes, no control characters
    pub(crate) name: String,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

//! `cotter schedule`: runs the jobs of a file, each slot once across all hosts that run the same file.
//!
//! | file | concept |
//! |---|---|
//! | `file/` | the job file and its mistakes |
//! | `crontab/` | `--from-crontab` |
//! | `next` | `--next` |
//! | `diff` | `--diff` |
//! | `connect` | connecting to a store that may be started later |
//! | `serve` | running the jobs until a signal |
//! | `reload` | reading the file again, while the jobs go on |
//! | `commands` | one run: a command under the lock of its job |
//! | `follow_up` | the commands that follow runs: `on_success` and `on_failure` |
//! | `output` | the output of a command, line by line |
//! | `event_log`, `event_line` | events as lines: writing them; one of them as text or JSON |
//! | `metrics/` | figures for Prometheus, and the health of the store |
//! | `systemd` | notifications to the service manager |

mod commands;
mod connect;
mod crontab;
mod diff;
mod event_line;
mod event_log;
pub(crate) mod file;
mod follow_up;
mod metrics;
mod next;
mod output;
mod reload;
mod serve;
mod systemd;

use crate::global::Global;
use clap::Args;
use cotter_console::duration::parse_positive;
use cotter_console::{Console, Exit, Failure, clean};
use cotter_scheduler::{Label, UnixTime};
use file::{File, Mistake};
use serde_json::json;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Run the jobs of a file when they are due
///
/// Start it with the same file on as many hosts as you like: each slot of a job is run by one of them. Every job is a
/// command that runs as under `cotter run`, under the lock GROUP/JOB. In addition to COTTER_NAME, COTTER_TOKEN and
/// COTTER_URL, its environment has COTTER_SLOT (the scheduled instant, in RFC 3339), COTTER_ATTEMPT, and COTTER_ARG_… for the
/// arguments of `cotter jobs trigger`.
///
/// On TERM or INT it waits for running commands, stops those that are left after the `grace` period of the file, and
/// exits; a second signal kills them. On HUP it reads the file again: running commands continue, and if the file has
/// mistakes, nothing changes. Events and the output of commands are printed as lines that begin with the name of the job,
/// or, with --json, as objects, one per line, on standard output.
#[derive(Debug, Args)]
pub(crate) struct Schedule {
    /// The job file; see docs/jobs.md
    pub(crate) file: PathBuf,
    /// Only check the file: report every mistake with its line, and exit with 78 if there are any
    #[arg(long, conflicts_with = "next")]
    validate: bool,
    /// Only print what runs when, by the clock of this host
    ///
    /// Jobs whose slots depend on earlier runs (fixed_rate, fixed_delay) are listed at the end.
    #[arg(long)]
    next: bool,
    /// Only compare the file with the definitions in the store, and print what starting with it would change; exit with 1 if there is
    /// anything
    ///
    /// Changes nothing. Jobs that are left to other hosts are compared as well; a job that runs on each host, with those of all hosts
    /// that have had it.
    #[arg(long, conflicts_with_all = ["validate", "next", "metrics"])]
    diff: bool,
    /// The number of instants
    #[arg(short = 'n', long = "count", value_name = "N", requires = "next", default_value_t = 10)]
    count: usize,
    /// Read FILE as a crontab and print a job file for it, with a comment for each guess; `-` is standard input
    ///
    /// Cron's environment lines, MAILTO, `%`, users and `flock -n` are translated, or named where they cannot be. Lines in
    /// /etc/crontab and /etc/cron.d have a column for the user, and those of other files with --user-column.
    #[arg(long, conflicts_with_all = ["validate", "next", "diff", "metrics", "label"])]
    from_crontab: bool,
    /// The lines of the crontab have a column for the user
    #[arg(long, requires = "from_crontab")]
    user_column: bool,
    /// Label this host, as in role=db; can be repeated. Jobs `on` a label run only on hosts that have it
    #[arg(long, value_name = "KEY=VALUE", value_parser = label, conflicts_with_all = ["validate", "next"])]
    label: Vec<Label>,
    /// Serve /metrics, for Prometheus, and /healthz at this address
    ///
    /// Both are open to anyone who can reach the address: prefer a loopback address. Port 0 picks a free port.
    #[arg(long, value_name = "ADDR", value_parser = address, conflicts_with_all = ["validate", "next"])]
    metrics: Option<SocketAddr>,
    /// Fail /healthz when the store has not answered for longer than this
    #[arg(long, value_name = "DUR", requires = "metrics", default_value = "30s", value_parser = parse_positive)]
    unhealthy_after: Duration,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "write an address and a port, such as 127.0.0.1:9464 or [::1]:9464".to_owned())
}

fn label(text: &str) -> Result<Label, String> {
    Label::new(text).map_err(|e| e.to_string())
}

/// Executes the command.
pub(crate) async fn run(args: &Schedule, global: &Global, console: &Console) -> Result<Exit, Failure> {
    if args.from_crontab {
        return crontab::print(&args.file, args.user_column, console)?
            .or_else(|mistakes| refuse(&args.file, &mistakes, console));
    }
    let file = match file::read(&args.file)? {
        Ok(file) => file,
        Err(mistakes) => return refuse(&args.file, &mistakes, console),
    };
    if args.validate {
        doubts(&file).iter().for_each(|doubt| console.warning(doubt));
        return print_valid(&file, console);
    }
    if args.next {
        return next::print(&file.jobs, args.count, console);
    }
    if args.diff {
        return diff::print(&file, &args.label, global, console).await;
    }
    serve::serve(file, args, global, console).await
}

/// Prints all mistakes, on standard error or as JSON.
fn refuse(path: &Path, mistakes: &[Mistake], console: &Console) -> Result<Exit, Failure> {
    for mistake in mistakes {
        if console.json {
            let object =
                json!({ "file": path.to_string_lossy(), "line": mistake.line, "mistake": mistake.message });
            writeln!(console.out(), "{object}")?;
        } else {
            console.failure(&Failure::config(mistake.of(path)));
        }
    }
    Ok(Exit::Config)
}

/// A probable mistake.
fn doubts(file: &File) -> Vec<String> {
    let now = UnixTime::now();
    file.jobs.iter().flat_map(|spec| spec.doubts(now)).collect()
}

fn print_valid(file: &File, console: &Console) -> Result<Exit, Failure> {
    let (path, jobs) = (clean(&file.path.to_string_lossy()), file.jobs.len());
    if console.json {
        let object = json!({ "file": file.path.to_string_lossy(), "group": file.group, "jobs": jobs, "warnings": doubts(file) });
        writeln!(console.out(), "{object}")?;
    } else {
        let noun = if jobs == 1 { "job" } else { "jobs" };
        writeln!(console.out(), "{path}: {jobs} {noun} in group {:?}, no mistakes", file.group)?;
    }
    Ok(Exit::Done)
}

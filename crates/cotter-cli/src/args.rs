//! The command line as it is declared. Reading it does nothing yet.

use crate::bench::Bench;
use crate::cron::Cron;
use crate::demo::Demo;
use crate::duration::{parse, parse_positive};
use crate::exit::{self, Exit};
use crate::jobs::Jobs;
use crate::schedule::Schedule;
use clap::{Args, ColorChoice, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Run commands under a distributed lock, and look after the locks.
#[derive(Debug, Parser)]
#[command(name = "cotter", version, max_term_width = 100, after_long_help = WHERE)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What the manual page says about the place of the locks.
pub(crate) const WHERE: &str = "\
Which store, the first that is given:
  --url URL, --store NAME    the command line
  COTTER_STORE, COTTER_URL   the environment
  file:                      a directory of this user on this host

Named stores stand in ~/.config/cotter/config.toml (below $HOME) or /etc/cotter.toml:
  [store.prod]
  url = \"redis://redis.example\"
  password_file = \"/run/secrets/redis\"";

/// What every command understands.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// The store: memory:, file:, file:///DIR, flock:/PATH, redis://HOST/DB, rediss://HOST or unix:/SOCKET
    ///
    /// A password does not belong here, because everybody on the host can read it in the list of processes: give
    /// --password-file, or put such a URL into COTTER_URL or the configuration file.
    #[arg(long, global = true, value_name = "URL", conflicts_with = "store")]
    pub(crate) url: Option<String>,
    /// A store from the configuration file
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) store: Option<String>,
    /// A file with the password of the store; a line break at its end does not count
    ///
    /// Also COTTER_PASSWORD_FILE, and password_file of a named store. Only the path is passed on to commands.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Print JSON, one object a line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No word about waiting, and no warnings
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say which store is used, and why
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

/// One variant for each command. Each has a module of its own, and is described where its arguments are.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    #[command(visible_alias = "ls")]
    List(List),
    Show(Show),
    #[command(visible_alias = "break")]
    Evict(Evict),
    Doctor(Doctor),
    Schedule(Schedule),
    Jobs(Jobs),
    Cron(Cron),
    Bench(Bench),
    Demo(Demo),
    Completions(Completions),
    Man(Man),
}

/// Run a command while holding a lock
///
/// Waits for the lock NAME, runs CMD while holding it, gives it back and exits as CMD did.
///
/// CMD runs in a process group of its own and finds COTTER_NAME, COTTER_TOKEN (larger with every holder: let what CMD
/// writes to refuse smaller ones) and COTTER_URL in its environment. TERM, INT, HUP, QUIT, USR1 and USR2 are passed on
/// to the group. When CMD has ended, what it left running is stopped before the lock is given back, daemons too.
///
/// When the lock is about to be lost, --max-hold is reached, or cotter is killed, all that came of CMD is stopped:
/// TERM, then KILL after a grace of a quarter of the ttl, but at least 100 ms and at most 5 s.
///
/// On a terminal Ctrl-C and Ctrl-Z reach CMD. A job that is stopped with Ctrl-Z does not renew its lock: where locks have
/// a ttl, it is lost after that, and CMD is killed.
#[derive(Debug, Args)]
#[command(after_long_help = exit::table())]
pub(crate) struct Run {
    /// Share the lock with others that share it
    ///
    /// Commands that only read run at once; one that is run without this waits for them all, and they for it. Who waits
    /// has its turn in order of arrival, so that neither kind starves. A store without shared locks refuses it.
    #[arg(short, long)]
    pub(crate) shared: bool,
    /// Give up at once when somebody holds the lock
    #[arg(short, long, conflicts_with = "wait")]
    pub(crate) no_wait: bool,
    /// Give up after so long, like 5s or 1m30s [default: wait for ever]
    #[arg(short, long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse)]
    pub(crate) wait: Option<Duration>,
    /// The exit code for giving up
    #[arg(short = 'E', long, value_name = "N", default_value_t = Exit::BUSY)]
    pub(crate) busy_code: u8,
    /// How long the lock outlives a cotter that is dead or cut off
    ///
    /// It is renewed every third of this. Three graces have to fit into it (see above), so that a command is stopped in
    /// time: less than 300ms is refused. Where locks live with the process (file:) they are free at once.
    #[arg(long, value_name = "DUR", default_value = "30s", allow_hyphen_values = true, value_parser = parse_positive)]
    pub(crate) ttl: Duration,
    /// Stop CMD after so long
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_positive)]
    pub(crate) max_hold: Option<Duration>,
    /// The time between TERM and KILL [default: a quarter of the ttl, at least 100ms, at most 5s]
    ///
    /// Three graces have to fit into the ttl.
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_positive)]
    pub(crate) grace: Option<Duration>,
    /// Keep others out for so long, also when CMD ends sooner
    ///
    /// Where the lock lives with the process (file:), cotter stays until then.
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_positive)]
    pub(crate) at_least: Option<Duration>,
    /// Run CMD only if nobody has run it with this key before, and succeeded
    ///
    /// A key stands for one time of a job, like 2031-05-02 or v1.4. When CMD exits with 0, the key is noted beside the
    /// lock; who comes later with the same key exits with 0 without running CMD. The last 1000 keys are kept.
    #[arg(long, value_name = "KEY", value_parser = crate::run::slot::parse)]
    pub(crate) slot: Option<String>,
    /// Write how it went to FILE: one JSON object with outcome, code, token, and waited and held in seconds
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// What others read about the holder, beside host and process
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Run `sh -c 'CMD ARG…'`: CMD and its arguments, joined by blanks, are a shell script
    #[arg(long)]
    pub(crate) shell: bool,
    /// The name of the lock: 1 to 512 bytes, no control characters
    pub(crate) name: String,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// List the locks that are held
///
/// In order of name; one line for each holder, of whom there are several where the lock is shared.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only names that begin so
    pub(crate) prefix: Option<String>,
    /// Free names too, as far as the store remembers them
    #[arg(long)]
    pub(crate) all: bool,
}

/// Show one lock
///
/// Who holds it, since when, with which token, and how many wait. Exits with 0 also when it is free.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The name of the lock
    pub(crate) name: String,
}

/// Take a lock away from its holder
///
/// Its holder is told at its next renewal, and the lock passes on when the lease ends.
///
/// Exits with 0 when nobody holds the lock (any more), and with 64 where the lock lives with a process: no store can
/// take such a lock away; the message names the process that has to end.
#[derive(Debug, Args)]
pub(crate) struct Evict {
    /// The name of the lock
    pub(crate) name: String,
    /// Only the holder with this token
    #[arg(long, value_name = "N")]
    pub(crate) token: Option<u64>,
    /// At once: the next may start while the holder has not noticed yet
    #[arg(long)]
    pub(crate) now: bool,
}

/// Say what the store promises, and what in its set-up voids that
///
/// Exits with 78 when a promise is void until something is mended.
#[derive(Debug, Args)]
pub(crate) struct Doctor {}

/// Print the completions for a shell
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual page
///
/// For example: cotter man run | man -l -
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The page of this command
    pub(crate) command: Option<String>,
}

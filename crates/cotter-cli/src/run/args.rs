//! The arguments of `cotter run`.

use crate::duration::{parse, parse_positive};
use crate::exit::{self, Exit};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

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
/// On a terminal Ctrl-C and Ctrl-Z reach CMD, and a script around it: when CMD dies of Ctrl-C, cotter does, too. A job that is stopped with Ctrl-Z does not renew its lock: where locks have
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
    #[arg(long, value_name = "KEY", conflicts_with = "shared", value_parser = super::slot::parse)]
    pub(crate) slot: Option<String>,
    /// Write how it went to FILE, as one JSON object; - is standard output
    ///
    /// It has `name`, `outcome` (exited, done_before, busy, interrupted, lost, max_hold, not_started or failed), `code`,
    /// `signal`, `token`, `waited` and `held` in seconds, and `error`. A regular file is replaced as a whole; a pipe or a
    /// device is written to.
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

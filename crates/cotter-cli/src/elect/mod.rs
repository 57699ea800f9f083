//! `cotter elect`: runs a command while leading, and follows who leads.
//!
//! | file | concept |
//! |---|---|
//! | `observe` | printing each change of the leader |

mod observe;

use crate::command::signals::{Signals, until_stopped};
use crate::exit_codes;
use crate::run::{self, Leading, Run, WaitOptions};
use crate::store::Chosen;
use clap::{Args, Parser};
use cotter_console::duration::{parse, parse_positive};
use cotter_console::{Console, Exit, Failure};
use std::ffi::OsString;
use std::time::Duration;
use tokio::time::sleep;

/// The pause before the next campaign when the store does not answer.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Run a command while leading an election
///
/// Campaigns until this candidate leads, announces TEXT to followers, and runs CMD as `cotter run` does: CMD is stopped
/// before the leadership is lost, and none of its processes outlives the leadership. When CMD ends, cotter gives up the
/// leadership and exits with the exit code of CMD.
///
/// When the leadership is lost, cotter exits with 74, so that a supervisor can restart it; with --again, it campaigns
/// again by itself. Give CMD its own election name and start it on as many hosts as you like: one of them runs it.
///
/// With --observe, prints the current leader and then each change, until interrupted. Followers learn of a new leader at
/// once, of a leader's death when its lease ends, and of a leader that gave up without a successor within 5 s.
#[derive(Debug, Args)]
#[command(after_long_help = exit_codes::table("elect"))]
pub(crate) struct Elect {
    /// Print who leads, and each change; with --json, one object per line
    #[arg(long, conflicts_with_all = ["announce", "again", "no_wait", "wait", "busy_code", "ttl", "grace", "label", "shell", "command"])]
    observe: bool,
    /// What to announce as the leader, for example an address
    #[arg(long, value_name = "TEXT")]
    announce: Option<String>,
    /// Campaign again after a loss, instead of exiting with 74
    #[arg(long)]
    again: bool,
    /// Give up immediately if another candidate leads
    #[arg(short, long, conflicts_with = "wait")]
    no_wait: bool,
    /// Give up after this time, for example 5s or 1m30s [default: never, but a store that is away is given up after 30s]
    #[arg(short, long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse)]
    wait: Option<Duration>,
    /// The exit code if another candidate led the whole time
    #[arg(short = 'E', long, value_name = "N", default_value_t = Exit::BUSY)]
    busy_code: u8,
    /// How long a leadership outlives a cotter process that has died or lost its connection; see `cotter run --help`
    #[arg(long, value_name = "DUR", default_value = "30s", allow_hyphen_values = true, value_parser = parse_positive)]
    ttl: Duration,
    /// The time between TERM and KILL [default: a quarter of the ttl, at least 100ms, at most 5s]
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_positive)]
    grace: Option<Duration>,
    /// A label for the candidate, shown to others along with its host and process
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// Run `sh -c 'CMD ARG…'`: CMD and its arguments, joined by spaces, form a shell script
    #[arg(long)]
    shell: bool,
    /// The name of the election: 1 to 512 bytes, no control characters
    name: String,
    /// The command and its arguments
    #[arg(required_unless_present = "observe", trailing_var_arg = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// `cotter run` with nothing but its defaults.
#[derive(Parser)]
struct Defaults {
    #[command(flatten)]
    run: Run,
}

impl Elect {
    fn as_run(&self) -> Run {
        Run {
            leading: Some(Leading { announcement: self.announce.clone() }),
            wait_options: WaitOptions { no_wait: self.no_wait, wait: self.wait, busy_code: self.busy_code },
            ttl: self.ttl,
            grace: self.grace,
            label: self.label.clone(),
            shell: self.shell,
            name: self.name.clone(),
            command: self.command.clone(),
            ..Defaults::parse_from(["run", "NAME", "CMD"]).run
        }
    }
}

/// Runs a command while leading, or follows who leads.
pub(crate) async fn run(args: &Elect, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    if args.observe {
        return until_stopped(observe::run(&args.name, store, console)).await;
    }
    let mut term = args.as_run();
    // Of all terms: a signal that arrives at the end of one, while its command is being stopped, prevents the next.
    let mut signals = Signals::listen()?;
    let (mut has_led, mut was_down) = (false, false);
    loop {
        let failure = match run::run(&term, Ok(store), &mut signals, console).await {
            Err(failure) if args.again && may_lead_again(&failure, has_led) => failure,
            ended => return ended,
        };
        // An outage is reported once.
        let is_down = failure.exit == Exit::Unreachable;
        if !(is_down && was_down) {
            console.warning(&format!("{}; campaigning again", failure.message));
        }
        (has_led, was_down) = (true, is_down);
        // This loop waits for a store that is away, and has said so.
        term.is_asked_again = true;
        if let Some(signal) = pause(&mut signals).await {
            return Ok(Exit::Interrupted(signal));
        }
    }
}

/// After a first term, a store that does not answer is most likely the reason for its end.
fn may_lead_again(failure: &Failure, has_led: bool) -> bool {
    matches!(failure.exit, Exit::Lost) || has_led && matches!(failure.exit, Exit::Unreachable)
}

async fn pause(signals: &mut Signals) -> Option<u8> {
    tokio::select! {
        biased;
        signal = signals.stop() => Some(signal),
        () = sleep(RETRY_PAUSE) => None,
    }
}

//! `cotter acquire`: takes a lock and leaves it to a ticket.

use super::keeper;
use super::text::TicketText;
use super::wait::wait;
use crate::run::WaitOptions;
use crate::run::held::Held;
use crate::run::wait::{close, reach};
use crate::store::Chosen;
use clap::Args;
use cotter::{Client, FencingToken, Lease, Name};
use cotter_console::duration::parse_positive;
use cotter_console::{Console, Exit, Failure};
use serde_json::json;
use std::io::{self, Write};
use std::time::Duration;
use tokio::time::Instant;

/// Not part of the text above, which is wrapped.
const EXAMPLE: &str = "\
Example:
  eval \"$(cotter acquire nightly --wait 1m --pid $$)\" || exit
  pg_dump shop > dump.sql
  cotter release\n";

/// Acquire a lock for a script that cannot run under `cotter run`
///
/// Prints shell code that sets and exports COTTER_TICKET and COTTER_TOKEN; if the lock is not acquired, prints shell code
/// that fails. `cotter renew` and `cotter release` take the ticket from the environment.
///
/// With --pid, a background process renews the lock and releases it when process PID has ended, however it ended. Without
/// --pid, nothing renews it: it is lost after --ttl, unless `cotter renew` is called in time. Nothing stops the script when
/// the lock is lost; prefer `cotter run` wherever possible.
///
/// Anyone who has the ticket can release the lock: treat it like a password.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLE)]
pub(crate) struct Acquire {
    /// Keep the lock until this process ends, usually the shell itself: $$
    #[arg(long, value_name = "PID")]
    pub(super) pid: Option<u32>,
    /// How long the lock lasts without a renewal; with --pid, how long it outlives a keeper that has died or lost its connection
    /// [default with --pid: 30s]
    #[arg(long, value_name = "DUR", required_unless_present = "pid", allow_hyphen_values = true, value_parser = parse_positive)]
    ttl: Option<Duration>,
    /// Take a shared lock, which several holders can hold at once
    #[arg(short, long)]
    pub(super) shared: bool,
    #[command(flatten)]
    pub(super) wait_options: WaitOptions,
    /// A label for the holder, shown to others along with its host and process
    #[arg(long, value_name = "TEXT")]
    pub(super) label: Option<String>,
    /// This process is the keeper
    #[arg(long, hide = true, requires = "pid")]
    keeper: bool,
    /// The name of the lock: 1 to 512 bytes, no control characters
    pub(super) name: String,
}

/// The ttl of a lock that is renewed by a keeper.
const KEPT_TTL: Duration = Duration::from_secs(30);

impl Acquire {
    pub(super) fn ttl(&self) -> Duration {
        self.ttl.unwrap_or(KEPT_TTL)
    }
}

/// The result of `acquire`.
pub(super) struct Acquired {
    pub(super) ticket: TicketText,
    pub(super) token: FencingToken,
}

/// Takes the lock and prints the ticket.
pub(crate) async fn run(args: &Acquire, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    match args.pid {
        _ if args.keeper => keeper::run(args, store, console).await,
        Some(_) => keeper::start(args, store, console).await,
        None => take(args, store, console).await,
    }
}

/// Prints shell code that fails like this process, however early it failed: in `eval`, the exit code of a command
/// substitution is lost.
pub(crate) fn fail_in_shell(exit: Exit) {
    let is_json = std::env::args_os().any(|word| word == "--json");
    if exit.code() != 0 && !is_json {
        let _ = writeln!(io::stdout(), "(exit {})", exit.code());
    }
}

async fn take(args: &Acquire, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let name = Name::new(&args.name)?;
    let builder = || {
        let builder = Client::builder().lease(Lease::fixed(args.ttl()));
        args.label.iter().fold(builder, |builder, label| builder.label(label))
    };
    let began = Instant::now();
    let client = reach(store, builder, &args.wait_options, true, console).await?;
    let info = client.info();
    if !info.capabilities.tickets || info.scheme == "memory" {
        return Err(Failure::usage(format!(
            "{}: a lock stays with the process that took it here: add --pid $$ to keep it until the shell ends, or use cotter run",
            info.variant
        )));
    }
    Held::above(|key| std::env::var_os(key))?.refuse(&client, &name)?;
    let guard = match wait(args, began, &client, &name, console).await? {
        Ok(guard) => guard,
        Err(exit) => return Ok(exit),
    };
    let ticket = match guard.into_ticket(args.ttl()).await {
        Ok(ticket) => ticket,
        Err(error) => {
            close(&client).await;
            return Err(error.into());
        }
    };
    let acquired = Acquired { token: ticket.token(), ticket: TicketText::Leased(ticket.clone()) };
    if let Err(failure) = print(&name, &acquired, console) {
        // Nobody has the ticket.
        let _ = client.admin().release_ticket(&ticket).await;
        return Err(failure.into());
    }
    Ok(Exit::Done)
}

pub(super) fn print(name: &Name, acquired: &Acquired, console: &Console) -> io::Result<()> {
    let Acquired { ticket, token } = acquired;
    let mut out = console.out();
    if console.json {
        let object =
            json!({ "name": name.as_str(), "token": token.to_string(), "ticket": ticket.to_string() });
        writeln!(out, "{object}")?;
    } else {
        writeln!(out, "export COTTER_TICKET={ticket} COTTER_TOKEN={token}")?;
    }
    out.flush()
}

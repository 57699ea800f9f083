//! `cotter renew`: gives the lock of a ticket more time.

use super::kept::{Answer, Request};
use super::text::TicketText;
use crate::store::Chosen;
use clap::Args;
use cotter::Client;
use cotter_console::duration::{parse_positive, words};
use cotter_console::{Console, Exit, Failure, clean};
use std::time::Duration;

/// Give a lock taken by `cotter acquire` more time
///
/// Exits with 0 if the lock is held, and with 74 if it was lost. A lock taken with `acquire --pid` is renewed
/// automatically; for such a lock, this command only checks whether it is still held.
#[derive(Debug, Args)]
pub(crate) struct Renew {
    /// How long the lock lasts from now; never less than before. Required, except for a lock taken with `acquire --pid`
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse_positive)]
    ttl: Option<Duration>,
    /// The ticket [default: $COTTER_TICKET]
    ticket: Option<String>,
}

/// Extends the lease.
pub(crate) async fn run(args: &Renew, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let ticket = match TicketText::find(args.ticket.as_deref())? {
        TicketText::Leased(ticket) => ticket,
        TicketText::Kept(kept) => {
            return match kept.ask(Request::Check).await? {
                Answer::Lost(why) => Err(Failure::new(Exit::Lost, why)),
                Answer::Released => Err(Failure::new(Exit::Lost, "the lock was released")),
                _ => Ok(Exit::Done),
            };
        }
    };
    let Some(ttl) = args.ttl else {
        return Err(Failure::usage("--ttl is missing: say how long the lock should last from now"));
    };
    let client = store.connect(Client::builder(), console).await?;
    client.admin().extend_ticket(&ticket, ttl).await?;
    console.confirm(&format!("{} is held for {} from now", clean(ticket.name()), words(ttl)));
    Ok(Exit::Done)
}

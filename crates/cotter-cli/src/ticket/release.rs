//! `cotter release`: frees the lock of a ticket.

use super::kept::{Answer, Request};
use super::text::TicketText;
use crate::store::Chosen;
use clap::Args;
use cotter::{Client, Released};
use cotter_console::{Console, Exit, Failure, clean};

/// Release a lock taken by `cotter acquire`
///
/// Exits with 0 if the lock was held until now, and with 74 if it had already been lost: another holder may have run at the
/// same time.
#[derive(Debug, Args)]
pub(crate) struct Release {
    /// The ticket [default: $COTTER_TICKET]
    ticket: Option<String>,
}

/// Releases the lock.
pub(crate) async fn run(args: &Release, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    match TicketText::find(args.ticket.as_deref())? {
        TicketText::Leased(ticket) => {
            let client = store.connect(Client::builder(), console).await?;
            match client.admin().release_ticket(&ticket).await? {
                Released::AlreadyLost => Err(Failure::new(
                    Exit::Lost,
                    format!(
                        "{}: the lock was not held any more; another holder may have run",
                        clean(ticket.name())
                    ),
                )),
                _ => Ok(Exit::Done),
            }
        }
        TicketText::Kept(kept) => match kept.ask(Request::Release).await? {
            Answer::Lost(why) => Err(Failure::new(Exit::Lost, why)),
            Answer::Failed(why) => {
                let why = format!("the lock was not released; its lease will expire: {why}");
                Err(Failure::new(Exit::Unreachable, why))
            }
            Answer::Released | Answer::Held => Ok(Exit::Done),
        },
    }
}

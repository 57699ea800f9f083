//! Tickets as text.

use super::kept::Kept;
use cotter::Ticket;
use cotter_console::Failure;
use std::fmt;

/// A ticket of `cotter acquire`.
#[derive(Debug)]
pub(super) enum TicketText {
    /// The store keeps the lock for a time.
    Leased(Ticket),
    /// A keeper holds the lock.
    Kept(Kept),
}

impl TicketText {
    /// The ticket on the command line, or else in the environment.
    pub(super) fn find(argument: Option<&str>) -> Result<Self, Failure> {
        let of_env = std::env::var("COTTER_TICKET").ok().filter(|text| !text.is_empty());
        let text = argument.map(str::to_owned).or(of_env).ok_or_else(|| {
            Failure::usage("there is no ticket: set COTTER_TICKET, as the output of cotter acquire does, or pass the ticket")
        })?;
        match Kept::parse(&text) {
            Some(kept) => Ok(Self::Kept(kept)),
            None => Ok(Self::Leased(text.parse()?)),
        }
    }
}

impl fmt::Display for TicketText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leased(ticket) => ticket.fmt(f),
            Self::Kept(kept) => kept.fmt(f),
        }
    }
}

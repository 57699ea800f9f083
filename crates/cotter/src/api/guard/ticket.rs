//! Turning a guard into a ticket.

use super::Guard;
use super::extend::ask_to_extend;
use crate::api::lease::check_ttl;
use crate::backend::Feature;
use crate::engine::forget;
use crate::{Error, ErrorKind, Op, Result, Ticket};
use std::time::Duration;

/// An answer is late when this share of the ttl is over.
const LATE_SHARE: u32 = 10;
/// A caller that is late every time gets what is left.
const REQUESTS: usize = 3;

impl Guard {
    /// Turns this guard into a [`Ticket`] that keeps the lock: the lease is extended to at least `ttl` a last time, and
    /// the ticket can be used once to [resume](crate::Client::resume) the lock, in this process or another one.
    ///
    /// `ttl` counts from the last request to the store. If the answer is read so late that more than a tenth of `ttl` has
    /// passed since the request, it is sent again, at most twice.
    ///
    /// Signals of the guard complete with the cause [`Released`](crate::LossCause::Released), and the lease is no
    /// longer renewed.
    ///
    /// Cancel safety: if the call is dropped, the lock is released.
    ///
    /// # Errors
    /// On an error, the lock is released, unless it was lost. [`ErrorKind::Unsupported`] where grants live with the
    /// process or a session, [`ErrorKind::Lost`] if the lock is no longer held, [`ErrorKind::Misuse`] while the same
    /// owner holds it more than once, [`ErrorKind::InvalidInput`] for a ttl outside the store's limits,
    /// [`ErrorKind::Unavailable`] if the store did not answer.
    pub fn into_ticket(self, ttl: Duration) -> Op<Ticket> {
        let engine = self.engine();
        Op::new(&engine, self.write_ticket(ttl))
    }

    async fn write_ticket(self, ttl: Duration) -> Result<Ticket> {
        let (hold, token) = (self.hold().clone(), self.token);
        let info = hold.core.backend.info();
        hold.core.usable()?;
        info.require(Feature::Tickets).map_err(|e| e.with_name(hold.name()))?;
        info.capabilities.check_ttl(ttl)?;
        if !hold.end_re_entry() {
            let why = "a lock that its owner has entered more than once cannot become a ticket";
            return Err(Error::new(ErrorKind::Misuse, why).with_name(hold.name()));
        }
        hold.check(token)?;
        for _ in 0..REQUESTS {
            let asked = hold.core.now();
            ask_to_extend(&hold, ttl).await?;
            hold.check(token)?;
            if hold.core.now().since(asked) <= ttl / LATE_SHARE {
                break;
            }
        }
        forget(self)?;
        Ok(Ticket::new(&hold.grant, token, hold.last_note()))
    }
}

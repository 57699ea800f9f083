//! Locks on their way from one process to another.

use crate::backend::{Claim, ClaimId, Grant, Mode};
use crate::{Error, ErrorKind, FencingToken, Moment, Name, Result};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A lock that no process holds at the moment, as text that can be passed on.
///
/// [`Guard::into_ticket`](crate::Guard::into_ticket) creates one, and [`Client::resume`](crate::Client::resume) turns
/// it into a guard again, once, in any process that uses the same store: a worker that takes over from the process that
/// accepted a job, a web hook that continues where a request has ended. Until then the lease is not renewed, so the
/// lock is lost when the `ttl` of the ticket has passed. [`Admin::extend_ticket`](crate::Admin::extend_ticket) gives
/// it more time, and [`Admin::release_ticket`](crate::Admin::release_ticket) frees the lock.
///
/// Anyone who has the text can use it, so treat it like a password: `Debug` shows only the name and the token. The text
/// contains no blanks, quotes or other characters that a shell would change.
///
/// ```
/// # use std::time::Duration;
/// # fn main() -> cotter::Result<()> {
/// # let client = cotter::Client::connect("memory:").wait()?;
/// let guard = client.mutex("report:7").lock().wait()?;
/// let text = guard.into_ticket(Duration::from_secs(60)).wait()?.to_string();
/// // In another process:
/// let ticket: cotter::Ticket = text.parse()?;
/// let guard = client.resume(&ticket).wait()?;
/// guard.finish().wait()?;
/// # Ok(()) }
/// ```
#[must_use = "nobody can free the lock of a lost ticket before its time is over"]
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket {
    name: Name,
    id: ClaimId,
    mode: Mode,
    /// The first token of the block that was granted, by which the store knows the grant.
    number: u64,
    token: FencingToken,
    /// The notes that its holders have written under this token: the next one goes on after them.
    notes: u64,
}

/// The version of the text.
const VERSION: &str = "ct1";
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b':').remove(b'/');

impl Ticket {
    pub(crate) fn new(grant: &Grant, token: FencingToken, notes: u64) -> Self {
        let Claim { name, id, mode, .. } = &grant.claim;
        Self { name: name.clone(), id: *id, mode: *mode, number: grant.number, token, notes }
    }

    /// Returns the name of the lock.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Returns the fencing token of the guard that became this ticket. The next guard has the same token or a larger
    /// one.
    pub fn token(&self) -> FencingToken {
        self.token
    }

    /// Returns the mode in which the name is held.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The number of notes that were written under this token.
    pub(crate) fn notes(&self) -> u64 {
        self.notes
    }

    /// The number of tokens of the block that were used: those of the guards before the one that became this ticket are among
    /// them.
    pub(crate) fn used(&self) -> u16 {
        let used = self.token.get().saturating_sub(self.number).saturating_add(1);
        u16::try_from(used).unwrap_or(u16::MAX)
    }

    /// The claim that the store knows.
    pub(crate) fn claim(&self) -> Claim {
        Claim { id: self.id, ..Claim::new(self.name.clone(), self.mode, Duration::ZERO) }
    }

    /// The grant that the store knows.
    pub(crate) fn grant(&self, as_of: Moment) -> Grant {
        Grant::new(self.claim(), self.number, as_of)
    }
}

/// `ct1.<claim>.<first token>.<token>.<mode>.<name>`; behind the token follows `-<notes>` if there are some
impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{VERSION}.{}.{}.{}", self.id, self.number, self.token)?;
        if self.notes > 0 {
            write!(f, "-{}", self.notes)?;
        }
        f.write_str(".")?;
        match self.mode {
            Mode::Exclusive => f.write_str("x")?,
            Mode::Shared => f.write_str("s")?,
            Mode::Permits { take, of } => write!(f, "p{take}-{of}")?,
        }
        write!(f, ".{}", utf8_percent_encode(&self.name, ESCAPED))
    }
}

impl FromStr for Ticket {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse(text).ok_or_else(|| {
            let why = "this is not a ticket: pass its whole text, unchanged";
            Error::new(ErrorKind::InvalidInput, why)
        })
    }
}

fn parse(text: &str) -> Option<Ticket> {
    let mut fields = text.trim().splitn(6, '.');
    if fields.next()? != VERSION {
        return None;
    }
    let id = ClaimId::parse(fields.next()?)?;
    let (number, token) = (fields.next()?.parse().ok()?, fields.next()?);
    let (token, notes) = token.split_once('-').unwrap_or((token, "0"));
    let (token, notes) = (token.parse().ok()?, notes.parse().ok()?);
    let mode = mode(fields.next()?)?;
    let name = percent_decode_str(fields.next()?).decode_utf8().ok()?;
    Some(Ticket { name: Name::new(name).ok()?, id, mode, number, token, notes })
}

fn mode(text: &str) -> Option<Mode> {
    match text {
        "x" => Some(Mode::Exclusive),
        "s" => Some(Mode::Shared),
        _ => {
            let (take, of) = text.strip_prefix('p')?.split_once('-')?;
            Some(Mode::Permits { take: take.parse().ok()?, of: of.parse().ok()? })
        }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("name", &self.name).field("token", &self.token).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(name: &str, mode: Mode) -> Ticket {
        let claim = Claim::new(Name::new(name).unwrap(), mode, Duration::from_secs(1));
        // Those without notes look as they always did.
        let notes = u64::from(mode == Mode::Exclusive) * 7;
        Ticket::new(&Grant::new(claim, 41, Moment::ZERO), FencingToken::from(43), notes)
    }

    #[test]
    fn the_text_is_read_back_and_needs_no_quotes() {
        for mode in [Mode::Exclusive, Mode::Shared, Mode::Permits { take: 3, of: 10 }] {
            for name in
                ["a", "orders:7/x", "two words", "it's \"$(quoted)\"; rm -rf", "a.b.c", "日本語", "100%"]
            {
                let ticket = ticket(name, mode);
                let text = ticket.to_string();
                assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:/%".contains(&b)), "{text}");
                assert_eq!(text.parse::<Ticket>().unwrap(), ticket);
                assert_eq!(
                    format!("{text}\n").parse::<Ticket>().unwrap(),
                    ticket,
                    "with the end of its line"
                );
            }
        }
    }

    #[test]
    fn what_is_no_ticket_is_refused_and_not_repeated() {
        let whole = ticket("orders", Mode::Exclusive).to_string();
        for bad in ["", "ct1", "ct2.x", &whole[..40], &whole.replace(".x.", ".y."), "ct1....."] {
            let error = bad.parse::<Ticket>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(bad.is_empty() || !error.to_string().contains(bad), "{error}");
        }
    }

    #[test]
    fn debug_output_does_not_contain_the_claim() {
        let ticket = ticket("orders", Mode::Exclusive);
        assert!(!format!("{ticket:?}").contains(&ticket.id.to_string()));
    }
}

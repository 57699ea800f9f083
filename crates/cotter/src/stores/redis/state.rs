//! Parsing the strings that the scripts return, publish and store. `lua/state.lua` describes their layout.

use super::errors::unexpected;
use crate::backend::{ClaimId, Mode};
use crate::{LossCause, Result};
use redis::Value;
use std::time::Duration;

/// The answer to an acquire request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Granted(Block),
    /// In the queue, behind `position` others; the holder's lease lasts for `left`.
    Queued {
        ticket: u64,
        left: Duration,
        position: u64,
    },
    /// Held, for as long as the holder's lease lasts.
    Busy {
        left: Duration,
    },
}

/// A granted block of tokens, and the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) number: u64,
    pub(super) turns: u16,
    pub(super) ttl: Duration,
}

/// A message that grants a lock to a waiter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) id: ClaimId,
    pub(super) ticket: u64,
    pub(super) block: Block,
    pub(super) key: String,
}

/// The stored state of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) waited_for: bool,
    /// Whether the name is shared. `granted`, `ttl` and the label then say nothing about a holder.
    pub(super) shared: bool,
    /// Whether somebody has it, for as long as the lease lasts: a claim, or nobody in particular after a release that kept
    /// a rest of the lease.
    pub(super) taken: bool,
    pub(super) number: u64,
    pub(super) turns: u16,
    pub(super) granted: u64,
    pub(super) since: u64,
    pub(super) ttl: u64,
    pub(super) label: String,
}

/// The longest lease that fits into 14 digits, in microseconds: three years.
const MAX_LEASE_MICROS: u128 = 99_999_999_999_999;

/// The last `N` decimal digits.
pub(super) fn digits<const N: usize>(mut n: u64) -> [u8; N] {
    let mut digits = [b'0'; N];
    for digit in digits.iter_mut().rev() {
        *digit += (n % 10) as u8;
        n /= 10;
    }
    digits
}

/// A duration as the scripts take it: microseconds in 14 digits.
pub(super) fn micros(d: Duration) -> [u8; 14] {
    digits(d.as_micros().clamp(1, MAX_LEASE_MICROS) as u64)
}

/// A number of turns as the scripts take it.
pub(super) fn turns(turns: u16) -> [u8; 5] {
    digits(turns.into())
}

/// Splits the answer of a script that may grant shares: how many more scripts it takes to grant them all, and the rest.
pub(super) fn unfinished(answer: &str) -> Option<(u16, &str)> {
    let digits = answer.strip_prefix('*')?;
    Some((number(digits, 0, 3)?, digits.get(3..)?))
}

/// The use of a name because of which an acquire request was refused.
pub(super) fn use_of_name(answer: &str) -> Option<Mode> {
    let limit = answer.strip_prefix('m')?;
    Some(limit.parse().map_or(Mode::Exclusive, |of| Mode::Permits { take: 1, of }))
}

/// The bytes of an answer that may quote a value of another program.
pub(super) fn bytes(value: Value) -> Result<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        Value::SimpleString(text) => Ok(text.into_bytes()),
        other => Err(unexpected(&format!("{other:?}"))),
    }
}

/// The text of an answer.
pub(super) fn text(value: Value) -> Result<String> {
    match value {
        Value::BulkString(bytes) => {
            String::from_utf8(bytes).map_err(|_| unexpected("a string that is not UTF-8"))
        }
        Value::SimpleString(text) => Ok(text),
        other => Err(unexpected(&format!("{other:?}"))),
    }
}

fn number<T: std::str::FromStr>(text: &str, from: usize, len: usize) -> Option<T> {
    text.get(from..from + len)?.parse().ok()
}

/// The time left of a lease: 16 digits for its beginning, 14 for its length, 16 for the present time.
fn left(text: &str, at: usize) -> Option<Duration> {
    let end = number::<u64>(text, at, 16)? + number::<u64>(text, at + 16, 14)?;
    Some(Duration::from_micros(end.saturating_sub(number(text, at + 30, 16)?)))
}

impl Answer {
    pub(super) fn parse(text: &str) -> Result<Self> {
        Self::from_text(text).ok_or_else(|| unexpected(&format!("{text:?}")))
    }

    fn from_text(text: &str) -> Option<Self> {
        match text.as_bytes().first()? {
            b'g' => Block::from_digits(text.get(1..)?).map(Self::Granted),
            b'q' => Some(Self::Queued {
                ticket: number(text, 1, 16)?,
                left: left(text, 17)?,
                position: text.get(63..)?.parse().ok()?,
            }),
            b'b' => Some(Self::Busy { left: left(text, 1)? }),
            _ => None,
        }
    }
}

impl Block {
    pub(super) fn parse(text: &str) -> Result<Self> {
        Self::from_digits(text).ok_or_else(|| unexpected(&format!("{text:?}")))
    }

    /// 16 digits for the first token, 5 for the turns, 14 for the lease in microseconds.
    pub(super) fn from_digits(digits: &str) -> Option<Self> {
        if digits.len() != 35 {
            return None;
        }
        Some(Self {
            number: number(digits, 0, 16)?,
            turns: number(digits, 16, 5)?,
            ttl: Duration::from_micros(number(digits, 21, 14)?),
        })
    }
}

impl Message {
    /// Parses `granted <claim id> <ticket> <first token> <turns> <ttl> <key>`; `None` for any other message.
    pub(super) fn parse(payload: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(payload).ok()?.strip_prefix("granted ")?;
        let mut fields = text.splitn(6, ' ');
        let id = ClaimId::parse(fields.next()?)?;
        let ticket = fields.next()?.parse().ok()?;
        let number = fields.next()?.parse().ok()?;
        let turns = fields.next()?.parse().ok()?;
        let ttl = Duration::from_micros(fields.next()?.parse().ok()?);
        Some(Self { id, ticket, block: Block { number, turns, ttl }, key: fields.next()?.to_owned() })
    }
}

/// Parses `again <claim id>`: this claim should send its request again.
pub(super) fn asked_again(payload: &[u8]) -> Option<ClaimId> {
    ClaimId::parse(str::from_utf8(payload).ok()?.strip_prefix("again ")?)
}

impl Stored {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok().filter(|t| t.len() >= 110 && t.starts_with('1'))?;
        Some(Self {
            waited_for: text.get(1..2)? == "w",
            shared: text.as_bytes()[3] == b'r' || matches!(text.as_bytes()[5], b'r' | b's'),
            taken: text.get(5..37)? != "-".repeat(32),
            number: number(text, 38, 16)?,
            granted: number(text, 55, 16)?,
            since: number(text, 72, 16)?,
            turns: number(text, 89, 5)?,
            ttl: number(text, 95, 14)?,
            label: text.get(110..)?.to_owned(),
        })
    }

    /// The time left of the lease; `None` if the lock is free.
    pub(super) fn left(&self, now: u64) -> Option<Duration> {
        let left = (self.granted.min(now) + self.ttl).saturating_sub(now);
        (self.taken && left > 0).then(|| Duration::from_micros(left))
    }

    /// The last token that was reserved.
    pub(super) fn last(&self) -> u64 {
        (self.number + u64::from(self.turns)).saturating_sub(1)
    }
}

/// The answer for one lock of an extension: the time left, or why the lock is lost.
pub(super) fn extended(field: &str) -> Result<Result<Duration, LossCause>> {
    match field.as_bytes().first() {
        Some(b'-') => Ok(Err(LossCause::Gone)),
        Some(b'e') => Ok(Err(LossCause::Evicted)),
        _ => field.parse().map(|us| Ok(Duration::from_micros(us))).map_err(|_| unexpected(field)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let granted = Answer::from_text("g17637553481234560000100000030000000").unwrap();
        let block = Block { number: 1_763_755_348_123_456, turns: 1, ttl: Duration::from_secs(30) };
        assert_eq!(granted, Answer::Granted(block));
        let lease = "1763755348123456000000300000001763755349123456";
        let queued = Answer::from_text(&format!("q1763755348123456{lease}12")).unwrap();
        let left = Duration::from_secs(29);
        assert_eq!(queued, Answer::Queued { ticket: 1_763_755_348_123_456, left, position: 12 });
        assert_eq!(Answer::from_text(&format!("b{lease}")), Some(Answer::Busy { left }));
        for bad in ["", "g", "b", "q1763755348123456", "x", "g1", "g176375534812345600001000000300000001"] {
            assert_eq!(Answer::from_text(bad), None, "{bad}");
        }
    }

    #[test]
    fn messages() {
        let id = ClaimId::random();
        let text =
            format!("granted {id} 0000000000000007 1763755348123456 00002 00000000300000 cotter:{{a b}}");
        let message = Message::parse(text.as_bytes()).unwrap();
        assert_eq!((message.id, message.ticket, message.key.as_str()), (id, 7, "cotter:{a b}"));
        assert_eq!((message.block.turns, message.block.ttl), (2, Duration::from_millis(300)));
        assert_eq!(Message::parse(b"hello"), None);
    }
}

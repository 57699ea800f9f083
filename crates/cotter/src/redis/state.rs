//! The strings that the scripts answer with, publish and keep, taken apart. Their layout stands in `lua/state.lua`.

use super::errors::garbled;
use crate::backend::ClaimId;
use crate::{LossCause, Result};
use redis::Value;
use std::time::Duration;

/// What a question for the lock was answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Granted(Block),
    /// In the queue, behind so many; the lock is taken for so long.
    Queued {
        ticket: u64,
        left: Duration,
        position: u64,
    },
    /// Taken for so long.
    Busy {
        left: Duration,
    },
}

/// A granted block of tokens, and how long it is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) number: u64,
    pub(super) turns: u16,
    pub(super) ttl: Duration,
}

/// A grant that came by message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) id: ClaimId,
    pub(super) ticket: u64,
    pub(super) block: Block,
    pub(super) key: String,
}

/// What a name's string says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) waited_for: bool,
    /// Nobody: it is free. A claim id or a lease that was left behind: taken, as long as the lease lasts.
    pub(super) taken: bool,
    pub(super) number: u64,
    pub(super) turns: u16,
    pub(super) granted: u64,
    pub(super) since: u64,
    pub(super) ttl: u64,
    pub(super) label: String,
}

/// The longest lease that fits its 14 digits, in microseconds: three years.
const LONGEST: u128 = 99_999_999_999_999;

/// The last `N` decimal digits.
pub(super) fn digits<const N: usize>(mut n: u64) -> [u8; N] {
    let mut digits = [b'0'; N];
    for digit in digits.iter_mut().rev() {
        *digit += (n % 10) as u8;
        n /= 10;
    }
    digits
}

/// A time as the scripts take it: microseconds, 14 digits.
pub(super) fn micros(d: Duration) -> [u8; 14] {
    digits(d.as_micros().clamp(1, LONGEST) as u64)
}

/// A number of turns as the scripts take it.
pub(super) fn turns(turns: u16) -> [u8; 5] {
    digits(turns.into())
}

/// The bytes of an answer that may repeat what others have stored.
pub(super) fn bytes(value: Value) -> Result<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        Value::SimpleString(text) => Ok(text.into_bytes()),
        other => Err(garbled(&format!("{other:?}"))),
    }
}

/// The text of an answer.
pub(super) fn text(value: Value) -> Result<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).map_err(|_| garbled("bytes that are no text")),
        Value::SimpleString(text) => Ok(text),
        other => Err(garbled(&format!("{other:?}"))),
    }
}

fn number<T: std::str::FromStr>(text: &str, from: usize, len: usize) -> Option<T> {
    text.get(from..from + len)?.parse().ok()
}

/// What is left of a lease: 16 digits since when, 14 for how long, 16 now.
fn left(text: &str, at: usize) -> Option<Duration> {
    let end = number::<u64>(text, at, 16)? + number::<u64>(text, at + 16, 14)?;
    Some(Duration::from_micros(end.saturating_sub(number(text, at + 30, 16)?)))
}

impl Answer {
    pub(super) fn parse(value: Value) -> Result<Self> {
        let text = text(value)?;
        Self::from_text(&text).ok_or_else(|| garbled(&format!("{text:?}")))
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
    /// 16 digits of the first token, 5 of the turns, 14 of the microseconds.
    fn from_digits(digits: &str) -> Option<Self> {
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
    /// `granted <claim id> <ticket> <first token> <turns> <ttl> <key>`; `None` for what it is not.
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

impl Stored {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok().filter(|t| t.len() >= 110 && t.starts_with('1'))?;
        Some(Self {
            waited_for: text.get(1..2)? == "w",
            taken: text.get(5..37)? != "-".repeat(32),
            number: number(text, 38, 16)?,
            granted: number(text, 55, 16)?,
            since: number(text, 72, 16)?,
            turns: number(text, 89, 5)?,
            ttl: number(text, 95, 14)?,
            label: text.get(110..)?.to_owned(),
        })
    }

    /// What is left of the lease; `None` when it is free.
    pub(super) fn left(&self, now: u64) -> Option<Duration> {
        let left = (self.granted.min(now) + self.ttl).saturating_sub(now);
        (self.taken && left > 0).then(|| Duration::from_micros(left))
    }

    /// The last token that was reserved.
    pub(super) fn last(&self) -> u64 {
        (self.number + u64::from(self.turns)).saturating_sub(1)
    }
}

/// What one lock of an extension was answered with: the time that is left, or why it is lost.
pub(super) fn extended(field: &str) -> Result<Result<Duration, LossCause>> {
    match field.as_bytes().first() {
        Some(b'-') => Ok(Err(LossCause::Gone)),
        Some(b'e') => Ok(Err(LossCause::Evicted)),
        _ => field.parse().map(|us| Ok(Duration::from_micros(us))).map_err(|_| garbled(field)),
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

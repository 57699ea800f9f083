//! Parsing the list of those who share a name. `lua/shares.lua` describes their records.

use super::errors::unexpected;
use crate::Result;
use crate::backend::{Holder, Mode};
use redis::Value;
use std::time::{Duration, SystemTime};

/// The sharers of a name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sharers {
    /// The number of all of them.
    pub(super) count: u64,
    /// Some of them, in no particular order.
    pub(super) holders: Vec<Holder>,
}

impl Sharers {
    pub(super) fn parse(value: Value) -> Result<Self> {
        let Value::Array(fields) = value else { return Err(unexpected("no list")) };
        let mut fields = fields.into_iter();
        let Some(limit) = fields.next() else { return Ok(Self::default()) };
        let count = fields.next().and_then(|v| number(&v));
        let (Some(limit), Some(count)) = (number(&limit), count) else {
            return Err(unexpected("a list without its numbers"));
        };
        let mut holders = Vec::new();
        while let (Some(Value::BulkString(record)), Some(left)) = (fields.next(), fields.next()) {
            let holder = number(&left).and_then(|left| holder(&record, limit, left));
            holders.push(holder.ok_or_else(|| unexpected("an invalid record"))?);
        }
        Ok(Self { count, holders })
    }
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Int(n) => u64::try_from(*n).ok(),
        Value::BulkString(digits) => str::from_utf8(digits).ok()?.parse().ok(),
        _ => None,
    }
}

/// Parses `flags(2) first token(16) turns(5) since(16) permits(10) label`.
fn holder(record: &[u8], limit: u64, left: u64) -> Option<Holder> {
    let text = String::from_utf8_lossy(record);
    let digits = |from: usize, len: usize| text.get(from..from + len)?.parse::<u64>().ok();
    let mode = match limit {
        0 => Mode::Shared,
        of => Mode::Permits { take: u32::try_from(digits(43, 10)?).ok()?, of: u32::try_from(of).ok()? },
    };
    let mut holder = Holder::new(text.get(54..)?, mode, digits(3, 16)?);
    holder.turns = u16::try_from(digits(20, 5)?).ok()?;
    holder.since = Some(SystemTime::UNIX_EPOCH + Duration::from_micros(digits(26, 16)?));
    holder.remaining = Some(Duration::from_micros(left));
    Some(holder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders() {
        let record = b"-- 1763755348123456 00001 1763755348000000 0000000002 host/1 (a b)".to_vec();
        let bulk = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let list = |limit| {
            Value::Array(vec![
                Value::Int(limit),
                Value::Int(7),
                Value::BulkString(record.clone()),
                bulk("1500"),
            ])
        };
        let permits = Sharers::parse(list(3)).unwrap();
        assert_eq!((permits.count, permits.holders.len()), (7, 1));
        assert_eq!(permits.holders[0].mode, Mode::Permits { take: 2, of: 3 });
        assert_eq!(
            (&*permits.holders[0].label, permits.holders[0].token.get()),
            ("host/1 (a b)", 1_763_755_348_123_456)
        );
        assert_eq!(permits.holders[0].remaining, Some(Duration::from_micros(1500)));
        assert_eq!(Sharers::parse(list(0)).unwrap().holders[0].mode, Mode::Shared);
        assert_eq!(Sharers::parse(Value::Array(Vec::new())).unwrap(), Sharers::default());
        assert!(
            Sharers::parse(Value::Array(vec![Value::Int(0), Value::Int(1), bulk("-- 1"), bulk("1")]))
                .is_err()
        );
    }
}

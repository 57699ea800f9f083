//! What is in the key of a lock.

use super::acquire::millis_left;
use super::backend::EVICTED;
use super::names::is_ours;
use crate::backend::{Holder, Mode, Record};
use crate::stores::redis::errors::unexpected;
use crate::{Name, Result};
use redis::Value;
use std::time::Duration;

/// The fields of a lock, and what is known beside them.
#[derive(Debug)]
pub(super) struct Look {
    left: Option<Duration>,
    /// The last token that was drawn.
    last: u64,
    fields: Vec<(Vec<u8>, String)>,
    /// How many wait, where there is a line.
    waiters: Option<u32>,
}

/// Those who read, and how often each of them has entered, from a list of fields and values; nobody, if they have names of other
/// bytes than Redisson's.
pub(super) fn readers(fields: Value) -> Vec<(String, u64)> {
    let fields: Vec<(String, String)> = redis::from_redis_value(fields).unwrap_or_default();
    fields.into_iter().filter_map(|(field, count)| Some((field, count.parse().ok()?))).collect()
}

/// The field with which a read/write lock of Redisson says how it is held.
const MODE: &[u8] = b"mode";

impl Look {
    /// Parses the answer of a script; `None` if the lock is free.
    pub(super) fn parse(answer: Value) -> Result<Option<Self>> {
        let Value::Array(parts) = answer else { return Err(unexpected(&format!("{answer:?}"))) };
        if parts.is_empty() {
            return Ok(None);
        }
        let mut parts = parts.into_iter();
        let [left, last, fields] = [parts.next(), parts.next(), parts.next()];
        let (Some(left), Some(last), Some(fields)) = (left, last, fields) else {
            return Err(unexpected("no look at a lock"));
        };
        let waiters = parts.next().and_then(|waiters| redis::from_redis_value(waiters).ok());
        let (Value::Int(left), Ok(last)) = (left, redis::from_redis_value::<String>(last)) else {
            return Err(unexpected("a lock without an expiry or a count"));
        };
        let fields: Vec<(Vec<u8>, String)> =
            redis::from_redis_value(fields).map_err(|_| unexpected("a lock without fields"))?;
        let left = millis_left(&left.to_string()).flatten();
        Ok(Some(Self { left, last: last.parse().unwrap_or_default(), fields, waiters }))
    }

    /// The lock as it can be shown.
    pub(super) fn record(&self, name: &Name) -> Record {
        let mut record = Record::free(name.clone());
        record.holders = self.holders().collect();
        record.waiters = self.waiters;
        record.last_token = (self.last > 0).then(|| self.last.into());
        record
    }

    /// The token of one of the holders.
    pub(super) fn token(&self) -> u64 {
        self.holders().next().map_or(0, |holder| holder.token.get())
    }

    fn holders(&self) -> impl Iterator<Item = Holder> {
        let reads = self.fields.iter().any(|(field, value)| field == MODE && value == "read");
        let mode = if reads { Mode::Shared } else { Mode::Exclusive };
        self.fields.iter().filter(|(field, _)| field != MODE).map(move |(field, count)| {
            let owner = match field.as_slice() {
                field if field == EVICTED.as_bytes() => "nobody: evicted".to_owned(),
                field => format!("owner {}", field.escape_ascii()),
            };
            let label = if count == "1" { owner } else { format!("{owner}, entered {count} times") };
            // Others may have drawn no token, and of several readers one has drawn the last.
            let token = if is_ours(field) && !reads { self.last } else { 0 };
            let mut holder = Holder::new(label, mode, token);
            holder.remaining = self.left;
            holder
        })
    }
}

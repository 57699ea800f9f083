//! The row of a name: it is read, worked out, and replaced unless it has changed.

use super::boot::Boot;
use super::text::{self, Asks};
use crate::backend::{Filter, Grant, Holder, Record};
use crate::stores::shared::lock_state::{Held, Lock, Now};
use crate::{Error, ErrorKind, Moment, Name, Result};
use std::time::{Duration, SystemTime};

/// How often a step is tried while others change the row. One of them succeeds each time.
pub(crate) const TRIES: usize = 10_000;

/// Names that were not used for this long are forgotten.
pub(crate) const REMEMBERED: Duration = Duration::from_secs(3600);

/// The number of releases between two searches for unused names.
pub(crate) const FORGET_PERIOD: u32 = 256;

/// The row of a name, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Tokens of deleted rows are not larger.
    pub(crate) floor: i64,
    /// The last token and the state; `None` if there is no row.
    pub(crate) found: Option<(i64, String)>,
}

/// The result of a step.
#[derive(Debug)]
pub(crate) struct Step<T> {
    pub(crate) done: T,
    /// The last token and the state that the row must have then. `None`: it stays as it is.
    pub(crate) next: Option<(i64, String)>,
}

impl Row {
    /// The last token and the state, if there is a row.
    pub(crate) fn found(&self) -> Option<(i64, &str)> {
        self.found.as_ref().map(|(last, text)| (*last, text.as_str()))
    }

    /// The lock that the row describes, as it is now.
    pub(crate) fn lock<W: Asks>(&self, name: &Name, boot: Boot<'_>, now: Now) -> Result<Lock<W>> {
        let (last, text) = self.found().unwrap_or((self.floor, ""));
        let lock = u64::try_from(last).ok().and_then(|last| text::read(name, last, text, boot));
        let mut lock: Lock<W> = lock.ok_or_else(|| foreign(name))?;
        lock.advance(now);
        Ok(lock)
    }

    /// Works out the next row.
    pub(crate) fn step<W: Asks, T>(
        &self,
        name: &Name,
        boot: Boot<'_>,
        now: Now,
        work: impl FnOnce(&mut Lock<W>, Now) -> Result<T>,
    ) -> Result<Step<T>> {
        let mut lock = self.lock(name, boot, now)?;
        let done = work(&mut lock, now)?;
        let (last, text) = (lock.last as i64, text::write(&lock, boot));
        let is_same =
            self.found().is_some_and(|(seen, before)| seen == last && text::are_equal(before, &text))
                || (self.found.is_none() && text.is_empty() && last <= self.floor);
        Ok(Step { done, next: (!is_same).then_some((last, text)) })
    }
}

/// The grant for what is held, with the time that is left.
pub(crate) fn grant(held: Held, now: Now, as_of: Moment) -> Grant {
    let left = held.ends.since(now.at);
    let mut grant = Grant::new(held.claim, held.number, as_of);
    (grant.turns, grant.ttl) = (held.turns, Some(left));
    grant
}

/// A lock as it is listed, if the filter wants it. `wall` is the time of day at `now`.
pub(crate) fn record<W: Asks>(
    name: &Name,
    lock: &Lock<W>,
    filter: &Filter,
    wall: SystemTime,
    now: Now,
) -> Option<Record> {
    let mut record = Record::free(name.clone());
    let holders = lock.holders.iter().map(|held| {
        let mut holder = Holder::new(&*held.claim.label, held.claim.mode, held.number);
        holder.turns = held.turns;
        holder.since = wall.checked_sub(now.at.since(held.since));
        holder.remaining = Some(held.ends.since(now.at));
        holder
    });
    record.holders = holders.collect();
    record.waiters = Some(lock.waiting() as u32);
    record.last_token = Some(lock.last_token().into());
    // Of a name without a row nothing is remembered.
    let is_wanted = !record.holders.is_empty() || (filter.free_too && lock.last_token() > 0);
    is_wanted.then_some(record)
}

/// The row was written by something else.
fn foreign(name: &Name) -> Error {
    let why = "the row in cotter_locks was not written by this version of cotter; delete it when nobody holds the lock";
    Error::new(ErrorKind::ForeignKey, why).with_name(name)
}

/// The row was always different from what had been read just before.
pub(crate) fn contended(name: &Name) -> Error {
    let why = "other processes changed the row in cotter_locks each time before this one could";
    let error = Error::new(ErrorKind::Unavailable, why).with_name(name);
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    let error = error.with_contention();
    error
}

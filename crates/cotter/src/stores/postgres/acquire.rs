//! Acquire requests.

use super::SCHEME;
use super::backend::{Lease, duration, hex, micros, one, token, value};
use super::errors::unexpected;
use super::live::Bound;
use super::waiters::Joined;
use super::waiting::max_silence;
use crate::backend::{Acquired, Claim, Grant, Mode};
use crate::{Error, Moment, Result};
use std::time::Duration;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

/// The action of a request if the lock is held.
#[derive(Debug, Clone, Copy)]
pub(super) enum IfBusy<'a> {
    /// Nothing.
    Leave,
    /// Joins the queue, or stays there, to be woken on this channel. Without further requests it leaves after this time.
    Queue(&'a str, Duration),
}

/// The answer to a request.
pub(super) enum Answer {
    Granted(Grant),
    Busy,
    Queued(QueuePosition),
}

/// A place in the queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueuePosition {
    /// The time until the first lease of a holder ends.
    pub(super) left: Duration,
    /// The number of waiters before this one.
    pub(super) position: u32,
}

impl Lease {
    /// Sends one acquire request. Returns the answer and the time of sending.
    pub(super) async fn request(&self, claim: &Claim, if_busy: IfBusy<'_>) -> Result<(Answer, Moment)> {
        let live = self.pool.of(claim.id).live().await?;
        let (mode, take, of) = match claim.mode {
            Mode::Exclusive => ("x", 0, None),
            Mode::Shared => ("r", 0, None),
            Mode::Permits { take, of } => ("p", permits(take)?, Some(permits(of)?)),
        };
        let (id, ttl, turns) = (hex(claim.id), micros(claim.ttl), i32::from(claim.turns.max(1)));
        let (channel, silence) = match if_busy {
            IfBusy::Leave => ("", None),
            IfBusy::Queue(channel, silence) => (channel, Some(micros(silence))),
        };
        let bound: [Bound<'_>; 10] = [
            (&&*claim.name, Type::TEXT),
            (&id, Type::TEXT),
            (&mode, Type::TEXT),
            (&take, Type::INT4),
            (&of, Type::INT4),
            (&ttl, Type::INT8),
            (&turns, Type::INT4),
            (&&*claim.label, Type::TEXT),
            (&channel, Type::TEXT),
            (&silence, Type::INT8),
        ];
        let sent = self.now();
        let request = self.shared.in_flight.send(claim.id, live.number, self.link.arrives_by(sent));
        // Whatever the answer is, the row of the name was locked, and that waits for a standby as well.
        let row = live.write(&self.shared.statements.acquire, &bound, one, |_| true).await;
        let answer = row.and_then(|row| parse(claim, &row, sent)).map_err(|e| e.with_name(&claim.name));
        if !answer.as_ref().is_err_and(Error::outcome_unknown) {
            request.answered();
        }
        Ok((answer?, sent))
    }

    /// Tries once and leaves nothing behind if the lock is busy.
    pub(super) async fn try_once(&self, claim: &Claim) -> Result<Acquired> {
        match self.request(claim, IfBusy::Leave).await?.0 {
            Answer::Granted(grant) => Ok(Acquired::Granted(grant)),
            Answer::Busy => Ok(Acquired::Busy),
            Answer::Queued(_) => Err(unexpected("a place in the queue for a request that does not wait")),
        }
    }

    /// Tries once and joins the queue if the lock is busy, to be woken on this channel.
    pub(super) async fn try_or_join(&self, claim: &Claim, channel: &str) -> Result<Acquired> {
        let registration = self.shared.waiters.wait(claim.id);
        match self.request(claim, IfBusy::Queue(channel, max_silence(claim))).await? {
            (Answer::Granted(grant), _) => Ok(Acquired::Granted(grant)),
            (Answer::Queued(place), sent) => {
                registration.joined(Joined { place, sent });
                Ok(Acquired::Queued)
            }
            (Answer::Busy, _) => Err(unexpected("busy, for a request that joins the queue")),
        }
    }

    /// Passes what one claim holds to another.
    pub(super) async fn pass(&self, from: &Claim, to: &Claim) -> Result<Option<Grant>> {
        let live = self.pool.of(to.id).live().await?;
        let (from_id, to_id) = (hex(from.id), hex(to.id));
        let bound: [Bound<'_>; 4] = [
            (&&*to.name, Type::TEXT),
            (&from_id, Type::TEXT),
            (&to_id, Type::TEXT),
            (&&*to.label, Type::TEXT),
        ];
        let sent = self.now();
        let request = self.shared.in_flight.send(to.id, live.number, self.link.arrives_by(sent));
        let read = |rows| {
            let row = one(rows)?;
            Ok(value::<Option<i64>>(&row, 0)?.map(|_| row))
        };
        let passed = live.write(&self.shared.statements.adopt, &bound, read, Option::is_some).await;
        if !passed.as_ref().is_err_and(Error::outcome_unknown) {
            request.answered();
        }
        let passed = passed.map_err(|e| e.with_name(&to.name))?;
        passed.map(|row| grant(to, &row, [0, 1, 2], sent)).transpose()
    }
}

fn permits(count: u32) -> Result<i32> {
    let why = "at most 2147483647 permits are supported";
    i32::try_from(count).map_err(|_| Error::new(crate::ErrorKind::InvalidInput, why).with_backend(SCHEME))
}

/// A grant whose number, turns and rest of the lease are in these columns.
fn grant(claim: &Claim, row: &Row, [number, turns, left]: [usize; 3], as_of: Moment) -> Result<Grant> {
    let mut grant = Grant::new(claim.clone(), token(row, number)?, as_of);
    grant.turns = u16::try_from(value::<i32>(row, turns)?).map_err(|_| unexpected("too many turns"))?;
    grant.ttl = Some(duration(value(row, left)?));
    Ok(grant)
}

fn parse(claim: &Claim, row: &Row, sent: Moment) -> Result<Answer> {
    match value::<String>(row, 0)?.as_str() {
        "g" => grant(claim, row, [1, 2, 3], sent).map(Answer::Granted),
        "b" => Ok(Answer::Busy),
        "q" => {
            let position = u32::try_from(value::<i32>(row, 4)?).unwrap_or(u32::MAX);
            Ok(Answer::Queued(QueuePosition { left: duration(value(row, 3)?), position }))
        }
        "u" => {
            let limit = value::<Option<i32>>(row, 4)?.and_then(|of| u32::try_from(of).ok());
            let other = limit.map_or(Mode::Exclusive, |of| Mode::Permits { take: 1, of });
            Err(claim.mode.mismatch(other).with_backend(SCHEME))
        }
        other => Err(unexpected(other)),
    }
}

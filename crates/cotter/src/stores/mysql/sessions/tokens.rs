//! Reserving tokens.
//!
//! A token must be smaller than that of the next holder, even if its request arrives when its own holder has died. So it is worked
//! out from what the session has read *while it held the lock*, and is only written if that is still so. Whoever takes the lock
//! afterwards reads after that: either it sees the token that was written, or its own replaces what the late request compares
//! with.
//!
//! They are written over another connection, which may lead to another server than the one that has the session: a proxy was
//! switched, or a host was given up. Nobody there knows the mark of the session, so nothing is written.

use super::backend::{Inner, Steps};
use super::connection::Connection;
use super::ending;
use crate::backend::Claim;
use crate::backend::tokens::reserve;
use crate::stores::mysql::SCHEME;
use crate::stores::mysql::errors::{demoted, unexpected};
use crate::stores::mysql::live::Live;
use crate::stores::mysql::rows::{unless_changed, value};
use crate::stores::shared::net::Live as _;
use crate::stores::shared::sql::sessions::Tokens;
use crate::stores::shared::sql::{TRIES, contended};
use crate::{Error, ErrorKind, Moment, Result};
use mysql_async::{Params, Row, Value};

/// The values that a session has read while it held the lock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// When it was asked.
    pub(super) as_of: Moment,
    /// The clock of the server, in µs since 1970.
    micros: u64,
    /// The last token ever reserved; `None` if there is no row.
    last: Option<u64>,
}

/// A block of tokens: the first one, how many, and the last.
#[derive(Debug)]
struct Block {
    number: u64,
    turns: u16,
    last: u64,
}

impl Seen {
    /// Reads the second column and those after it. On a server that takes no writes any more, nobody has a lock.
    pub(super) fn new(row: &Row, as_of: Moment) -> Result<Self> {
        if !value::<bool>(row, 3)? {
            return Err(demoted());
        }
        let last: Option<i64> = value(row, 2)?;
        let last = last.map(|last| u64::try_from(last).map_err(|_| unexpected("a negative token")));
        Ok(Self { as_of, micros: value(row, 1)?, last: last.transpose()? })
    }

    /// The next tokens.
    fn block(&self, last: u64, turns: u16) -> Block {
        let (number, turns) = reserve(last, self.micros, turns);
        Block { number, turns, last: number + u64::from(turns) - 1 }
    }
}

impl<S: Steps> Inner<S> {
    /// Reserves tokens for a lock that the session holds.
    pub(super) async fn reserve(
        &self,
        steps: &S,
        session: &Connection,
        claim: &Claim,
        seen: Option<Seen>,
    ) -> Result<Tokens> {
        let (mut next, mut looked_again) = (seen, false);
        for _ in 0..TRIES {
            let seen = match next.take() {
                Some(seen) => Some(seen),
                None => steps.look(self, session, claim).await?,
            };
            let Some(seen) = seen else { return Ok(Tokens { block: None, as_of: self.parts.now() }) };
            let written = match seen.last {
                None => self.insert(claim).await.map(|()| None),
                Some(last) => self.write(session, claim, last, seen.block(last, claim.turns)).await,
            };
            match written {
                Ok(Some(block)) => {
                    return Ok(Tokens { block: Some((block.number, block.turns)), as_of: seen.as_of });
                }
                Ok(None) => {}
                Err(Unwritten { may_look_again: true, .. }) if !looked_again => looked_again = true,
                // The server carries no writes out, or not in time.
                Err(Unwritten { e, .. }) => return Err(e),
            }
        }
        Err(contended(&claim.name))
    }

    /// Creates the row of a name. It is read again afterwards, over the session that holds the lock.
    async fn insert(&self, claim: &Claim) -> Result<(), Unwritten> {
        let live = self.parts.pool.of(claim.id).live().await?;
        let (insert, name) = (self.statements.insert.clone(), claim.name.to_string());
        let written =
            live.run(move |own| Box::pin(async move { own.write(&insert, (name,)).await.map(drop) })).await;
        written.map_err(|e| Unwritten::over(&live, e))
    }

    /// Writes tokens, if the last one is still the one that was seen; `None` if it is not. Not over the session of the claim: what
    /// its transaction writes would go with it.
    async fn write(
        &self,
        session: &Connection,
        claim: &Claim,
        seen: u64,
        block: Block,
    ) -> Result<Option<Block>, Unwritten> {
        let live = self.parts.pool.of(claim.id).live().await?;
        let reserve = self.statements.reserve.clone();
        let values: Vec<Value> = vec![
            claim.id.to_string().into(),
            session.id.number.into(),
            session.id.marker.to_string().into(),
            block.number.into(),
            block.turns.into(),
            block.last.into(),
            block.number.into(),
            claim.label.to_string().into(),
            claim.name.to_string().into(),
            seen.into(),
            session.id.marker.to_string().into(),
            session.id.number.into(),
        ];
        let id = session.id.clone();
        let written = live.run(move |own| {
            Box::pin(async move {
                let written = unless_changed(own.write(&reserve, Params::Positional(values)).await)?;
                let written = own.unless_demoted(written).await?.rows > 0;
                if !written && !ending::knows(own, &id).await? {
                    return Err(elsewhere());
                }
                Ok(written)
            })
        });
        let is_written = written.await.map_err(|e| Unwritten::over(&live, e))?;
        Ok(is_written.then_some(block))
    }
}

/// Requests go to another server than the one that has the session: its lock keeps out nobody who asks there.
fn elsewhere() -> Error {
    let why = "the session that has the lock has ended, or is on another server than the one that takes the requests now";
    Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME)
}

/// A write that failed.
struct Unwritten {
    e: Error,
    /// A connection that the server has closed while it was idle costs nobody an error, once. What was written over it all the same
    /// is seen when the session looks again, and a request that arrives later finds another token than it compares with.
    may_look_again: bool,
}

impl Unwritten {
    fn over(live: &Live, e: Error) -> Self {
        Self { may_look_again: e.is_retryable() && !live.is_usable(), e }
    }
}

impl From<Error> for Unwritten {
    fn from(e: Error) -> Self {
        Self { e, may_look_again: false }
    }
}

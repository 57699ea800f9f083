//! The state that the modes share, and the steps in which they differ.

use super::connection::{Connection, SessionId};
use super::records;
use crate::backend::{Claim, Host};
use crate::stores::postgres::connector::{Connector, Link, Pool};
use crate::stores::postgres::options::Options;
use crate::stores::postgres::statements::Statements;
use crate::stores::postgres::{Shared, doctor};
use crate::stores::shared::sql::sessions::{self, Asked, Parts, Tokens, Wait};
use crate::{Moment, Result};
use std::fmt::Debug;
use std::time::{Duration, SystemTime};

/// The steps in which the modes differ.
pub(super) trait Steps: Debug + Send + Sync + Sized + 'static {
    /// The store's name in errors.
    const VARIANT: &'static str;
    /// Waiters are served in order of arrival.
    const ORDERED: bool;

    fn new(options: &Options) -> Self;

    /// The set of locks that the names belong to: each mode, and each table, has its own.
    fn lock_set(&self) -> &str;

    /// Refuses what cannot be locked, before the first claim.
    fn check(&self, link: &Link) -> impl Future<Output = Result<()>> + Send;

    /// Asks for the lock, in one statement that waits in the server for up to `wait`. It may be cancelled.
    fn lock(
        &self,
        inner: &Inner<Self>,
        session: &Connection,
        claim: &Claim,
        wait: Wait,
    ) -> impl Future<Output = Result<Asked<Held>>> + Send;

    /// Reserves tokens for a lock that is held.
    fn tokens(
        &self,
        inner: &Inner<Self>,
        session: &Connection,
        claim: &Claim,
        held: &Held,
    ) -> impl Future<Output = Result<Tokens>> + Send;

    /// Whether the session still holds the lock.
    fn beat(&self, session: &Connection, held: &Held) -> impl Future<Output = Result<bool>> + Send;

    /// Gives the lock back; false if the session did not hold it any more.
    fn unlock(
        &self,
        session: &Connection,
        claim: &Claim,
        held: &Held,
    ) -> impl Future<Output = Result<bool>> + Send;

    /// Makes a session whose statement has failed ready for the next claim: it holds nothing afterwards.
    fn reset(&self, session: &Connection) -> impl Future<Output = Result<()>> + Send;
}

/// A limit for a statement that waits, as a setting: milliseconds, where 0 means none. Rounded up: nobody gives up early.
pub(super) fn setting(wait: Wait) -> String {
    match wait {
        Wait::No | Wait::Forever => "0".into(),
        Wait::For(time) => time.as_nanos().div_ceil(1_000_000).clamp(1, i32::MAX as u128).to_string(),
    }
}

/// An expression that sets how long the client of a session may be silent, in the transaction or from now on.
pub(super) fn silence(of: &str, time: Duration, in_transaction: bool) -> String {
    format!("set_config('{of}', '{}ms', {in_transaction})", time.as_millis())
}

/// A lock that a session holds.
#[derive(Debug)]
pub(super) struct Held {
    /// The session held it at this moment, or later.
    pub(super) as_of: Moment,
    /// The statement has waited, so its sending proves nothing.
    pub(super) waited: bool,
    /// The transaction that holds it.
    pub(super) xid: Option<String>,
    /// The tokens, where they were reserved by the same statement.
    pub(super) block: Option<(u64, u16)>,
}

/// The state that the claims of a connection share.
#[derive(Debug)]
pub(super) struct Inner<S> {
    pub(super) steps: S,
    pub(super) parts: Parts<Connector>,
    pub(super) options: Options,
    pub(super) statements: Statements,
    pub(super) records: records::Statements,
}

impl<S: Steps> Inner<S> {
    pub(super) async fn open(pool: Pool, shared: &Shared, host: &Host) -> Result<Self> {
        let options = shared.options.clone();
        let (steps, parts) = (S::new(&options), Parts::new(pool, options.common.session_timeout, host));
        steps.check(&parts.link).await?;
        let (statements, records) = (Statements::new(&options), records::Statements::new(&options));
        Ok(Self { steps, parts, options, statements, records })
    }
}

impl<S: Steps> sessions::Store for Inner<S> {
    type Connector = Connector;
    type Held = Held;

    fn parts(&self) -> &Parts<Connector> {
        &self.parts
    }

    async fn lock(&self, session: &Connection, claim: &Claim, wait: Wait) -> Result<Asked<Held>> {
        self.steps.lock(self, session, claim, wait).await
    }

    async fn tokens(&self, session: &Connection, claim: &Claim, held: &Held) -> Result<Tokens> {
        self.steps.tokens(self, session, claim, held).await
    }

    async fn beat(&self, session: &Connection, _: &Claim, held: &Held) -> Result<bool> {
        self.steps.beat(session, held).await
    }

    async fn unlock(&self, session: &Connection, claim: &Claim, held: &Held) -> Result<bool> {
        self.steps.unlock(session, claim, held).await
    }

    async fn reset(&self, session: &Connection, _: &Claim) -> Result<()> {
        self.steps.reset(session).await
    }

    async fn cancel(&self, session: &Connection) -> bool {
        session.cancel(&self.parts.link.connector).await
    }

    async fn end(&self, id: &SessionId) -> Result<()> {
        id.end(&self.parts.link).await
    }

    async fn evicted(&self, claims: &[&Claim]) -> Result<Vec<bool>> {
        self.are_evicted(claims).await
    }

    async fn give_back(&self, claim: &Claim, block: (u64, u16), used: u16) {
        self.give_back_turns(claim, block, used).await;
    }

    async fn time(&self) -> Result<SystemTime> {
        doctor::server_time(&self.parts.link).await.map(|(now, _)| now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_never_cut_short() {
        for (micros, limit) in [(0, "1"), (1, "1"), (59_999, "60"), (60_000, "60"), (60_001, "61")] {
            assert_eq!(setting(Wait::For(Duration::from_micros(micros))), limit, "{micros} us");
        }
        assert_eq!(setting(Wait::For(Duration::MAX)), i32::MAX.to_string());
        assert_eq!((setting(Wait::No), setting(Wait::Forever)), ("0".to_owned(), "0".to_owned()));
    }
}

//! The state that the modes share, and the steps in which they differ.

use super::connection::Connection;
use super::ending::{self, SessionId};
use super::statements::Statements;
use super::tokens::Seen;
use crate::backend::{Claim, Host};
use crate::stores::mysql::connector::{Connector, Link, Pool};
use crate::stores::mysql::options::Options;
use crate::stores::mysql::{Shared, doctor, state};
use crate::stores::shared::sql::sessions::{self, Asked, Parts, Tokens, Wait};
use crate::{Error, Result};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::SystemTime;

/// The steps in which the modes differ.
pub(super) trait Steps: Debug + Send + Sync + Sized + 'static {
    /// The store's name in errors.
    const VARIANT: &'static str;
    /// Waiters are served in order of arrival.
    const ORDERED: bool;

    fn new(options: &Options) -> Self;

    /// The set of locks that the names belong to: each mode, and each table, has its own.
    fn lock_set(options: &Options) -> String;

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

    /// Reads over the session that holds the lock what its tokens depend on; `None` if it does not hold it any more.
    fn look(
        &self,
        inner: &Inner<Self>,
        session: &Connection,
        claim: &Claim,
    ) -> impl Future<Output = Result<Option<Seen>>> + Send;

    /// The statement that gives the lock back, for a claim that holds or may hold it. Its first column says whether it did.
    fn unlock(&self, statements: &Statements, claim: &Claim) -> String;
}

/// A limit for a statement that waits, in seconds. The server knows no smaller part of the time, and some count it in whole ones:
/// the task of the claim cancels the statement when the time is over.
pub(super) fn seconds(wait: Wait) -> u32 {
    const MOST: u64 = 365 * 86_400;
    match wait {
        Wait::No => 0,
        Wait::Forever => MOST as u32,
        Wait::For(time) => (time.as_secs() + 1).min(MOST) as u32,
    }
}

/// A lock that a session holds.
#[derive(Debug)]
pub(super) struct Held {
    /// The values that the same statement has read, unless it has waited: in that case its sending proves nothing.
    pub(super) seen: Option<Seen>,
}

/// The state that the claims of a connection share.
#[derive(Debug)]
pub(super) struct Inner<S> {
    steps: S,
    pub(super) parts: Parts<Connector>,
    pub(super) shared: Arc<Shared>,
    pub(super) statements: Statements,
}

impl<S: Steps> Inner<S> {
    pub(super) async fn open(pool: Pool, shared: &Arc<Shared>, host: &Host) -> Result<Self> {
        let options = &shared.options;
        let (steps, parts) = (S::new(options), Parts::new(pool, options.session_timeout, host));
        steps.check(&parts.link).await?;
        let statements = Statements::new(options, &S::lock_set(options));
        Ok(Self { steps, parts, shared: shared.clone(), statements })
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
        self.reserve(&self.steps, session, claim, held.seen).await
    }

    async fn beat(&self, session: &Connection, claim: &Claim, _: &Held) -> Result<bool> {
        session.ask_for(&self.statements.holds, (&*claim.name,)).await
    }

    async fn unlock(&self, session: &Connection, claim: &Claim, _: &Held) -> Result<bool> {
        let unlock = self.steps.unlock(&self.statements, claim);
        let freed = session.tell(unlock).await.map_err(Error::with_outcome_unknown)?;
        Ok(freed.is_some_and(|freed| freed == "1"))
    }

    async fn reset(&self, session: &Connection, claim: &Claim) -> Result<()> {
        session.tell(self.steps.unlock(&self.statements, claim)).await.map(drop)
    }

    async fn cancel(&self, session: &Connection) -> bool {
        ending::cancel(&session.id, &self.parts.link).await.is_ok()
    }

    /// The driver does not let the kernel be told when to give up a connection: it would take twelve minutes.
    async fn still_waits(&self, session: &Connection) -> Result<bool> {
        ending::is_idle(&session.id, &self.parts.link).await.map(|idle| !idle)
    }

    async fn end(&self, id: &SessionId) -> Result<()> {
        ending::end(id, &self.parts.link).await
    }

    async fn evicted(&self, claims: &[&Claim]) -> Result<Vec<bool>> {
        self.are_evicted(claims).await
    }

    async fn give_back(&self, claim: &Claim, block: (u64, u16), used: u16) {
        self.give_back_turns(claim, block, used).await;
    }

    async fn time(&self) -> Result<SystemTime> {
        doctor::server_time(&self.parts.link).await.map(state::wall)
    }
}

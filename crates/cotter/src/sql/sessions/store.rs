//! What a store brings along: its sessions, and the steps on them.

use super::seats::Seats;
use super::spare::Spares;
use crate::backend::{Admin, Claim, Host, Notes};
use crate::{Moment, Result};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A session that can hold one lock. If it is dropped while it is not idle, it is closed without waiting for an answer.
pub(crate) trait Connection: Debug + Send + Sync + Sized + 'static {
    /// What it takes to end the session from another one, and no other session with the same number.
    type Id: Clone + Debug + Send + Sync + 'static;

    fn id(&self) -> Self::Id;

    fn is_usable(&self) -> bool;

    /// Whether the server still has it, as far as that was not known without asking. Cancel safe.
    fn is_there(&self) -> impl Future<Output = bool> + Send;

    /// Whether it holds nothing, and no answer is awaited.
    fn set_idle(&mut self, is_idle: bool);

    /// Has it be closed when it is dropped, without waiting for an answer.
    fn give_up(&self);

    /// Completes when the connection is known to have ended. Cancel safe.
    fn ended(&self) -> impl Future<Output = ()> + Send;
}

/// Opens sessions.
pub(crate) trait Opens: Debug + Send + Sync + 'static {
    type Connection: Connection;

    /// Opens a session that the server ends when its client is silent for too long. May be dropped.
    fn open(&self) -> impl Future<Output = Result<Self::Connection>> + Send;

    /// So many idle sessions are kept for long.
    fn connections(&self) -> usize;

    /// The server ends a session that was idle for so long.
    fn silence(&self) -> Duration;
}

/// The sessions of a store.
pub(crate) type ConnectionOf<S> = <<S as Store>::Opens as Opens>::Connection;

/// A store whose locks live with sessions. The futures of the steps run in the task of the claim: it drops one only together with
/// the session.
pub(crate) trait Store: Debug + Send + Sync + Sized + 'static {
    const SCHEME: &'static str;
    type Opens: Opens;
    /// A lock that a session holds.
    type Held: Debug + Send + Sync;

    fn host(&self) -> &Host;

    fn seats(&self) -> &Seats<<ConnectionOf<Self> as Connection>::Id>;

    fn spares(&self) -> &Arc<Spares<Self::Opens>>;

    /// The time for the answer to any statement that does not wait for a lock.
    fn timeout(&self) -> Duration;

    /// Asks for the lock, in one statement that waits in the server for so long. It may be cancelled.
    fn lock(
        &self,
        session: &ConnectionOf<Self>,
        claim: &Claim,
        wait: Wait,
    ) -> impl Future<Output = Result<Asked<Self::Held>>> + Send;

    /// Reserves tokens for a lock that is held.
    fn tokens(
        &self,
        session: &ConnectionOf<Self>,
        claim: &Claim,
        held: &Self::Held,
    ) -> impl Future<Output = Result<Tokens>> + Send;

    /// Whether the session still holds the lock.
    fn beat(
        &self,
        session: &ConnectionOf<Self>,
        claim: &Claim,
        held: &Self::Held,
    ) -> impl Future<Output = Result<bool>> + Send;

    /// Gives the lock back; false if the session did not hold it any more.
    fn unlock(
        &self,
        session: &ConnectionOf<Self>,
        claim: &Claim,
        held: &Self::Held,
    ) -> impl Future<Output = Result<bool>> + Send;

    /// Makes a session whose statement has failed ready for the next claim: it holds nothing afterwards.
    fn reset(&self, session: &ConnectionOf<Self>, claim: &Claim) -> impl Future<Output = Result<()>> + Send;

    /// Asks the server to cancel the statement that runs. True if the server has carried it out: then no later statement of this
    /// session is cancelled in its place.
    fn cancel(&self, session: &ConnectionOf<Self>) -> impl Future<Output = bool> + Send;

    /// Ends a session, over another one. It has gone when this is answered.
    fn end(&self, id: &<ConnectionOf<Self> as Connection>::Id) -> impl Future<Output = Result<()>> + Send;

    /// Says for each claim whether it was evicted.
    fn evicted(&self, claims: &[&Claim]) -> impl Future<Output = Result<Vec<bool>>> + Send;

    /// Gives back the tokens of turns that were not used. The next holder does not need them, so an error does no harm.
    fn give_back(&self, claim: &Claim, block: (u64, u16), used: u16) -> impl Future<Output = ()> + Send;

    /// The clock of the server.
    fn time(&self) -> impl Future<Output = Result<SystemTime>> + Send;

    fn notes(&self) -> &dyn Notes;

    fn admin(&self) -> &dyn Admin;

    /// Closes the connections for requests.
    fn close(&self);

    fn now(&self) -> Moment {
        self.host().clock().now()
    }
}

/// How long a statement may wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    No,
    For(Duration),
    Forever,
}

/// The answer to a request for a lock.
#[derive(Debug)]
pub(crate) enum Asked<H> {
    Held(H),
    /// Held by another. `failed`: it was said by an error, after which the session has to be made ready for the next claim.
    Busy {
        failed: bool,
    },
    /// Cancelled from another session.
    Cancelled,
}

/// Tokens for a lock that the session still held at `as_of`.
#[derive(Debug)]
pub(crate) struct Tokens {
    /// `None` if the session does not hold the lock any more.
    pub(crate) block: Option<(u64, u16)>,
    pub(crate) as_of: Moment,
}

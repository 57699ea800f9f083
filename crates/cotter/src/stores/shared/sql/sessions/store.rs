//! The steps on a session that each store implements.

use super::connection::{Connection, SessionConnector};
use super::parts::Parts;
use crate::backend::{Admin, Claim, Notes};
use crate::{Moment, Result};
use std::fmt::Debug;
use std::time::{Duration, SystemTime};

/// A session of a store.
pub(crate) type SessionOf<S> = Connection<<S as Store>::Connector>;

/// The identity of a session of a store.
pub(crate) type IdOf<S> = <<S as Store>::Connector as SessionConnector>::Id;

/// A store whose locks live with sessions. The futures of the steps run in the task of the claim: it drops one only together with
/// the session.
pub(crate) trait Store: Notes + Admin + Debug + Sized + 'static {
    type Connector: SessionConnector;
    /// A lock that a session holds.
    type Held: Debug + Send + Sync;

    fn parts(&self) -> &Parts<Self::Connector>;

    /// Asks for the lock, in one statement that waits in the server for up to `wait`. It may be cancelled.
    fn lock(
        &self,
        session: &SessionOf<Self>,
        claim: &Claim,
        wait: Wait,
    ) -> impl Future<Output = Result<Asked<Self::Held>>> + Send;

    /// Reserves tokens for a lock that is held.
    fn tokens(
        &self,
        session: &SessionOf<Self>,
        claim: &Claim,
        held: &Self::Held,
    ) -> impl Future<Output = Result<Tokens>> + Send;

    /// Whether the session still holds the lock.
    fn beat(
        &self,
        session: &SessionOf<Self>,
        claim: &Claim,
        held: &Self::Held,
    ) -> impl Future<Output = Result<bool>> + Send;

    /// Gives the lock back; false if the session did not hold it any more.
    fn unlock(
        &self,
        session: &SessionOf<Self>,
        claim: &Claim,
        held: &Self::Held,
    ) -> impl Future<Output = Result<bool>> + Send;

    /// Makes a session whose statement has failed ready for the next claim: it holds nothing afterwards.
    fn reset(&self, session: &SessionOf<Self>, claim: &Claim) -> impl Future<Output = Result<()>> + Send;

    /// Asks the server to cancel the statement that runs. True if the server has carried it out: then no later statement of this
    /// session is cancelled in its place.
    fn cancel(&self, session: &SessionOf<Self>) -> impl Future<Output = bool> + Send;

    /// Whether the server still has the statement that a session waits in, asked over another one. The answer to it may have been lost
    /// on the way. By default yes: the kernel gives up a connection whose server is not heard of.
    fn still_waits(&self, _: &SessionOf<Self>) -> impl Future<Output = Result<bool>> + Send {
        std::future::ready(Ok(true))
    }

    /// Ends a session, over another one. It has gone when this is answered.
    fn end(&self, id: &IdOf<Self>) -> impl Future<Output = Result<()>> + Send;

    /// Says for each claim whether it was evicted.
    fn evicted(&self, claims: &[&Claim]) -> impl Future<Output = Result<Vec<bool>>> + Send;

    /// Gives back the tokens of turns that were not used. The next holder does not need them, so an error does no harm.
    fn give_back(&self, claim: &Claim, block: (u64, u16), used: u16) -> impl Future<Output = ()> + Send;

    /// The clock of the server.
    fn time(&self) -> impl Future<Output = Result<SystemTime>> + Send;
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
    /// Held by another claim. `failed`: the answer was an error, after which the session has to be made ready for the next claim.
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

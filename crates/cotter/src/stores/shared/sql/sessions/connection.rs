//! A session that can hold one lock.

use crate::Result;
use crate::stores::shared::net::{self, Pooled};
use std::fmt::{self, Debug};
use std::time::Duration;

/// A connector whose connections can hold locks.
pub(crate) trait SessionConnector: Pooled<Live: SessionLive> {
    /// Identifies a session to other sessions: no later session has the same one, even if it has the same number.
    type Id: Clone + Debug + Send + Sync + 'static;

    /// Opens a session that the server ends when its client is silent for this long. May be dropped.
    fn open_session(&self, silence: Duration) -> impl Future<Output = Result<Connection<Self>>> + Send;

    /// Waits a moment until the sessions that nobody uses any more have told the server that they end, where their driver does not
    /// do so by itself.
    fn farewell(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Whether the server still has the session, as far as the driver does not notice that by itself. Cancel safe.
    fn is_there(session: &Connection<Self>) -> impl Future<Output = bool> + Send;
}

/// The connection of a session.
pub(crate) trait SessionLive: net::Live {
    /// Has the connection closed without waiting for an answer when it is dropped.
    fn give_up(&self);

    /// Completes when the connection is known to have ended. Cancel safe.
    fn ended(&self) -> impl Future<Output = ()> + Send;
}

/// A session that can hold one lock. If it is dropped while it is not idle, it is closed without waiting for an answer.
pub(crate) struct Connection<C: SessionConnector> {
    pub(crate) live: C::Live,
    pub(crate) id: C::Id,
    /// It holds nothing, and no answer is awaited.
    is_idle: bool,
}

impl<C: SessionConnector> Connection<C> {
    pub(crate) fn new(live: C::Live, id: C::Id) -> Self {
        Self { live, id, is_idle: false }
    }

    pub(super) fn is_usable(&self) -> bool {
        net::Live::is_usable(&self.live)
    }

    pub(super) fn set_idle(&mut self, is_idle: bool) {
        self.is_idle = is_idle;
    }
}

impl<C: SessionConnector> Drop for Connection<C> {
    fn drop(&mut self) {
        // A session that waits for a lock would close its connection only after it was served.
        if !self.is_idle {
            self.live.give_up();
        }
    }
}

impl<C: SessionConnector> Debug for Connection<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("live", &self.live).field("id", &self.id).finish_non_exhaustive()
    }
}

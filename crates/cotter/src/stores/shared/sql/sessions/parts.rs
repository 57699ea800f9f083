//! The parts that every such store has.

use super::connection::SessionConnector;
use super::seats::Seats;
use super::spare::Spares;
use crate::Moment;
use crate::backend::Host;
use crate::stores::shared::net::{Link, Pool};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The connections, sessions and claims of one runtime.
pub(crate) struct Parts<C: SessionConnector> {
    pub(super) host: Host,
    pub(crate) pool: Pool<C>,
    /// The connection for requests that do not concern one claim.
    pub(crate) link: Arc<Link<C>>,
    pub(super) spares: Arc<Spares<C>>,
    pub(super) seats: Seats<C::Id>,
}

impl<C: SessionConnector> Parts<C> {
    /// `silence`: the server ends a session after its client was silent for this long.
    pub(crate) fn new(pool: Pool<C>, silence: Duration, host: &Host) -> Self {
        let link = pool.first().clone();
        let spares = Arc::new(Spares::new(link.connector.clone(), silence, host));
        Self { host: host.clone(), pool, link, spares, seats: Seats::default() }
    }

    pub(crate) fn now(&self) -> Moment {
        self.host.clock().now()
    }
}

impl<C: SessionConnector> fmt::Debug for Parts<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("pool", &self.pool)
            .field("spares", &self.spares)
            .finish_non_exhaustive()
    }
}

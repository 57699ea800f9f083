//! The sessions that the next claims will use.

use super::connection::Connection;
use crate::backend::Host;
use crate::net::{Live, Pooled};
use crate::postgres::connector::Connector;
use crate::sync::lock;
use crate::{Moment, Result};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Idle sessions, the one that was used last at the end. Those that were in use at once a moment ago will be so again, and a
/// new one costs many times what a lock costs.
#[derive(Debug)]
pub(super) struct Spares {
    connector: Connector,
    host: Host,
    /// The server ends a session that was idle for so long.
    pub(super) silence: Duration,
    idle: Mutex<Idle>,
}

/// For so long all of them are kept; after that, as many as there may be connections for requests.
const RECENT: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct Idle {
    sessions: Vec<(Moment, Connection)>,
    is_swept: bool,
    is_closed: bool,
}

impl Spares {
    pub(super) fn new(connector: &Connector, host: &Host, silence: Duration) -> Self {
        Self { connector: connector.clone(), host: host.clone(), silence, idle: Mutex::default() }
    }

    /// A session that nobody uses, or a new one.
    pub(super) async fn take(&self) -> Result<Connection> {
        let oldest = self.host.clock().now() - self.keep_for();
        loop {
            let spare = lock(&self.idle).sessions.pop();
            match spare {
                None => return Connection::open(&self.connector, self.silence).await,
                Some((since, spare)) if since > oldest && spare.live.is_usable() => {
                    return Ok(Connection::in_use(spare));
                }
                Some(_) => {}
            }
        }
    }

    /// Keeps a session whose lock was given back.
    pub(super) fn put(self: &Arc<Self>, mut session: Connection) {
        session.is_idle = true;
        let mut idle = lock(&self.idle);
        if idle.is_closed || !session.live.is_usable() {
            return;
        }
        idle.sessions.push((self.host.clock().now(), session));
        if !std::mem::replace(&mut idle.is_swept, true) {
            drop(idle);
            let spares = Arc::downgrade(self);
            let clock = self.host.clock().clone();
            self.host.spawn(async move {
                while let Some(next) = spares.upgrade().and_then(|spares| spares.sweep()) {
                    clock.sleep_until(next).await;
                }
            });
        }
    }

    /// Closes all of them, and those that are put back later.
    pub(super) fn close(&self) {
        let mut idle = lock(&self.idle);
        idle.is_closed = true;
        idle.sessions.clear();
    }

    /// Closes those that were idle for too long. When to do so again; `None` when there are none.
    fn sweep(&self) -> Option<Moment> {
        let (now, mut idle) = (self.host.clock().now(), lock(&self.idle));
        idle.sessions.retain(|(since, session)| *since + self.keep_for() > now && session.live.is_usable());
        let mut surplus = idle.sessions.len().saturating_sub(self.connector.connections());
        let recent = self.keep_for().min(RECENT);
        idle.sessions.retain(|(since, _)| {
            let goes = surplus > 0 && *since + recent <= now;
            surplus -= usize::from(goes);
            !goes
        });
        idle.is_swept = !idle.sessions.is_empty();
        let patience = if surplus > 0 { recent } else { self.keep_for() };
        idle.sessions.first().map(|(since, _)| *since + patience)
    }

    /// Long before the server ends it.
    fn keep_for(&self) -> Duration {
        self.silence / 2
    }
}

//! The sessions that the next claims will use.

use super::connection::{Connection, SessionConnector};
use crate::backend::Host;
use crate::sync::lock;
use crate::{Moment, Result};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// Idle sessions, the one that was used last at the end. Those that were in use at once a moment ago will be so again, and a
/// new one costs many times what a lock costs.
pub(crate) struct Spares<C: SessionConnector> {
    connector: C,
    /// The server ends a session that was idle for this long.
    silence: Duration,
    host: Host,
    idle: Mutex<Idle<Connection<C>>>,
    /// Wakes the task that closes sessions that were idle for too long.
    closed: Arc<Notify>,
}

/// All of them are kept for this long; after that, as many as there may be connections for requests.
const RECENT: Duration = Duration::from_secs(1);

struct Idle<C> {
    sessions: Vec<(Moment, C)>,
    is_swept: bool,
    is_closed: bool,
}

impl<C: SessionConnector> Spares<C> {
    pub(super) fn new(connector: C, silence: Duration, host: &Host) -> Self {
        let idle = Idle { sessions: Vec::new(), is_swept: false, is_closed: false };
        Self { connector, silence, host: host.clone(), idle: Mutex::new(idle), closed: Arc::default() }
    }

    /// A session that nobody uses, or a new one.
    pub(super) async fn take(&self) -> Result<Connection<C>> {
        let now = self.host.clock().now();
        let (oldest, recent) = (now - self.max_idle(), now - RECENT);
        loop {
            let spare = lock(&self.idle).sessions.pop();
            match spare {
                None => return self.connector.open_session(self.silence).await,
                Some((since, mut spare)) if since > oldest && spare.is_usable() => {
                    if since > recent || C::is_there(&spare).await {
                        spare.set_idle(false);
                        return Ok(spare);
                    }
                }
                Some(_) => {}
            }
        }
    }

    /// Keeps a session whose lock was given back.
    pub(super) fn put(self: &Arc<Self>, mut session: Connection<C>) {
        session.set_idle(true);
        let mut idle = lock(&self.idle);
        if idle.is_closed || !session.is_usable() {
            return;
        }
        idle.sessions.push((self.host.clock().now(), session));
        if !std::mem::replace(&mut idle.is_swept, true) {
            drop(idle);
            let spares = Arc::downgrade(self);
            let (clock, closed) = (self.host.clock().clone(), self.closed.clone());
            self.host.spawn(async move {
                while let Some(next) = spares.upgrade().and_then(|spares| spares.sweep()) {
                    tokio::select! {
                        biased;
                        () = closed.notified() => {}
                        () = clock.sleep_until(next) => {}
                    }
                }
            });
        }
    }

    /// Closes all of them, and those that are put back later.
    pub(super) fn close(&self) {
        let mut idle = lock(&self.idle);
        idle.is_closed = true;
        idle.sessions.clear();
        drop(idle);
        // The end of the client waits for that task.
        self.closed.notify_one();
    }

    /// Closes those that were idle for too long. When to do so again; `None` when there are none.
    fn sweep(&self) -> Option<Moment> {
        let (now, mut idle) = (self.host.clock().now(), lock(&self.idle));
        idle.sessions.retain(|(since, session)| *since + self.max_idle() > now && session.is_usable());
        let mut surplus = idle.sessions.len().saturating_sub(self.connector.connections());
        let recent = self.max_idle().min(RECENT);
        idle.sessions.retain(|(since, _)| {
            let goes = surplus > 0 && *since + recent <= now;
            surplus -= usize::from(goes);
            !goes
        });
        idle.is_swept = !idle.sessions.is_empty();
        let limit = if surplus > 0 { recent } else { self.max_idle() };
        idle.sessions.first().map(|(since, _)| *since + limit)
    }

    /// The server ends a session that was idle for this long.
    pub(super) fn silence(&self) -> Duration {
        self.silence
    }

    /// The time after which an idle session is closed: long before the server ends it.
    fn max_idle(&self) -> Duration {
        self.silence / 2
    }
}

impl<C: SessionConnector> fmt::Debug for Spares<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spares").field("silence", &self.silence).finish_non_exhaustive()
    }
}

//! The sessions that the next claims will use.

use super::store::{Connection, Opens};
use crate::backend::Host;
use crate::sync::lock;
use crate::{Moment, Result};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Idle sessions, the one that was used last at the end. Those that were in use at once a moment ago will be so again, and a
/// new one costs many times what a lock costs.
#[derive(Debug)]
pub(crate) struct Spares<O: Opens> {
    opens: O,
    host: Host,
    idle: Mutex<Idle<O::Connection>>,
}

/// For so long all of them are kept; after that, as many as there may be connections for requests.
const RECENT: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Idle<C> {
    sessions: Vec<(Moment, C)>,
    is_swept: bool,
    is_closed: bool,
}

impl<O: Opens> Spares<O> {
    pub(crate) fn new(opens: O, host: &Host) -> Self {
        let idle = Idle { sessions: Vec::new(), is_swept: false, is_closed: false };
        Self { opens, host: host.clone(), idle: Mutex::new(idle) }
    }

    /// A session that nobody uses, or a new one.
    pub(crate) async fn take(&self) -> Result<O::Connection> {
        let now = self.host.clock().now();
        let (oldest, recent) = (now - self.keep_for(), now - RECENT);
        loop {
            let spare = lock(&self.idle).sessions.pop();
            match spare {
                None => return self.opens.open().await,
                Some((since, mut spare)) if since > oldest && spare.is_usable() => {
                    if since > recent || spare.is_there().await {
                        spare.set_idle(false);
                        return Ok(spare);
                    }
                }
                Some(_) => {}
            }
        }
    }

    /// Keeps a session whose lock was given back.
    pub(crate) fn put(self: &Arc<Self>, mut session: O::Connection) {
        session.set_idle(true);
        let mut idle = lock(&self.idle);
        if idle.is_closed || !session.is_usable() {
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
    pub(crate) fn close(&self) {
        let mut idle = lock(&self.idle);
        idle.is_closed = true;
        idle.sessions.clear();
    }

    /// Closes those that were idle for too long. When to do so again; `None` when there are none.
    fn sweep(&self) -> Option<Moment> {
        let (now, mut idle) = (self.host.clock().now(), lock(&self.idle));
        idle.sessions.retain(|(since, session)| *since + self.keep_for() > now && session.is_usable());
        let mut surplus = idle.sessions.len().saturating_sub(self.opens.connections());
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

    /// The server ends a session that was idle for so long.
    pub(crate) fn silence(&self) -> Duration {
        self.opens.silence()
    }

    /// Long before the server ends it.
    fn keep_for(&self) -> Duration {
        self.silence() / 2
    }
}

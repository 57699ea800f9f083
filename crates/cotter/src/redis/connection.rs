//! The link to the server: the current connection, replaced when it breaks.
//!
//! The driver's own connection manager reconnects silently. Here each connection has a number, so that the loss of the one
//! that carried an unanswered request is noticed.

use super::SCHEME;
use super::connector::{Connector, timed_out};
use super::errors::{Sent, explain, unexpected};
use super::live::Live;
use super::options::Options;
use super::socket::Server;
use crate::sync::lock;
use crate::{Clock, Error, ErrorKind, Moment, Name, Result};
use redis::{Cmd, Value};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::yield_now;

/// The current connection, and what it takes to make the next one.
pub(super) struct Link {
    connector: Connector,
    clock: Arc<dyn Clock>,
    shared: Arc<Shared>,
}

/// The part of a link that the connecting task needs too.
struct Shared {
    state: Mutex<State>,
    closed: AtomicBool,
}

struct State {
    current: Option<Arc<Live>>,
    /// The attempt to connect that is under way, or the last one.
    attempt: Option<Attempt>,
    /// The runtime that drives the connections. Calls may come from others.
    runtime: Handle,
}

/// An attempt to connect, for all who wait for it. It runs in a task of its own, so that a caller that is dropped or not
/// polled does not hold up the others.
struct Attempt {
    outcome: Outcome,
    began: Moment,
}

/// `None` as long as the attempt is under way.
type Outcome = watch::Receiver<Option<Result<Arc<Live>>>>;

/// The longest time that a request may still be under way after the wait for its answer has timed out.
const MAX_TRANSIT: Duration = Duration::from_secs(10);
/// The time for which a failure to connect is the answer to later callers too.
const FAILURE_REUSE: Duration = Duration::from_millis(20);

impl Link {
    /// Connects for the first time. The caller's runtime drives the connections from now on.
    pub(super) async fn open(
        server: &Server,
        options: &Options,
        clock: &Arc<dyn Clock>,
    ) -> Result<Arc<Self>> {
        server.endpoint.check()?;
        let (connector, runtime) = (Connector::new(server, options), Handle::current());
        let live = Arc::new(connector.connect().await?);
        let state = State { current: Some(live), attempt: None, runtime };
        let shared = Arc::new(Shared { state: Mutex::new(state), closed: AtomicBool::new(false) });
        Ok(Arc::new(Self { connector, clock: clock.clone(), shared }))
    }

    /// Returns the current connection, or waits for the one that replaces it. Cancel safe.
    pub(super) async fn live(&self) -> Result<Arc<Live>> {
        let Some(live) = self.shared.usable()? else {
            // Boxed, or the future of every request would have room for it.
            return Box::pin(self.replace()).await;
        };
        if !live.may_be_stale(|| self.now()) {
            return Ok(live);
        }
        // Lets the driver read first: it may find that the socket was closed. `block_on` polls its own future before the
        // tasks that an event has woken, so yielding once is not enough.
        yield_now().await;
        yield_now().await;
        match self.shared.usable()? {
            Some(live) => Ok(live),
            None => Box::pin(self.replace()).await,
        }
    }

    /// Waits for an attempt to connect, for as long as a request waits for its answer.
    async fn replace(&self) -> Result<Arc<Live>> {
        let over = self.now() + self.connector.timeout;
        loop {
            let mut outcome = self.attempt()?;
            tokio::select! {
                biased;
                made = outcome.wait_for(Option::is_some) => match made.as_deref() {
                    Ok(Some(made)) => return made.clone(),
                    // The runtime that ran the attempt has ended. The next one runs in the caller's.
                    _ => self.shared.change_runtime()?,
                },
                () = self.clock.sleep_until(over) => return Err(timed_out("the connection", self.connector.timeout)),
            }
        }
    }

    /// Returns the attempt to connect that is under way. Starts one if there is none, unless one has failed just now.
    fn attempt(&self) -> Result<Outcome> {
        let (now, mut state) = (self.now(), lock(&self.shared.state));
        if let Some(Attempt { outcome, began }) = &state.attempt {
            let counts = match &*outcome.borrow() {
                None => outcome.has_changed().is_ok(),
                Some(Err(_)) => now < *began + FAILURE_REUSE,
                Some(Ok(live)) => live.is_usable(),
            };
            if counts {
                return Ok(outcome.clone());
            }
        }
        let (sender, outcome) = watch::channel(None);
        let (shared, connector) = (self.shared.clone(), self.connector.clone());
        state.runtime.spawn(async move {
            let live = connector.connect().await.map(Arc::new);
            shared.replace(live.as_ref().ok());
            sender.send_replace(Some(live));
        });
        state.attempt = Some(Attempt { outcome: outcome.clone(), began: now });
        Ok(outcome)
    }

    /// Sends a command and waits for its answer. Also returns a time that is not later than its sending.
    pub(super) async fn query(&self, cmd: &Cmd) -> Result<(Value, Moment)> {
        let live = self.live().await?;
        let sent = self.clock.now();
        let value = live.query(cmd).await.map_err(|e| explain(e, Sent::Yes))?;
        Ok((value, sent))
    }

    /// The value of a key.
    pub(super) async fn get(&self, key: &Name) -> Result<Option<Vec<u8>>> {
        match self.query(redis::cmd("GET").arg(&**key)).await.map_err(|e| e.with_name(key))?.0 {
            Value::BulkString(value) => Ok(Some(value)),
            Value::Nil => Ok(None),
            other => Err(unexpected(&format!("{other:?}"))),
        }
    }

    pub(super) fn now(&self) -> Moment {
        self.clock.now()
    }

    pub(super) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Opens a connection for a subscription.
    pub(super) async fn subscribe(&self, channel: &str) -> Result<redis::aio::PubSub> {
        self.connector.subscribe(channel).await
    }

    /// The time by which a request that was sent at `sent` has arrived if it ever does.
    pub(super) fn arrives_by(&self, sent: Moment) -> Moment {
        sent + self.connector.timeout + MAX_TRANSIT
    }

    pub(super) fn timeout(&self) -> Duration {
        self.connector.timeout
    }

    /// Closes the link. The connection ends when its last request is answered.
    pub(super) fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        lock(&self.shared.state).current = None;
    }
}

impl Shared {
    fn usable(&self) -> Result<Option<Arc<Live>>> {
        if self.closed.load(Ordering::Acquire) {
            let error = Error::new(ErrorKind::Unavailable, "the connection was closed").with_retryable(false);
            return Err(error.with_backend(SCHEME));
        }
        Ok(lock(&self.state).current.as_ref().filter(|l| l.is_usable()).cloned())
    }

    fn replace(&self, live: Option<&Arc<Live>>) {
        if let Some(live) = live.filter(|_| !self.closed.load(Ordering::Acquire)) {
            lock(&self.state).current = Some(live.clone());
        }
    }

    /// Has the caller's runtime drive the connections from now on.
    fn change_runtime(&self) -> Result<()> {
        let mut state = lock(&self.state);
        match Handle::try_current().ok().filter(|here| here.id() != state.runtime.id()) {
            Some(here) => state.runtime = here,
            None => {
                let why = "the runtime in which this connection was made has ended";
                return Err(Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("current", &lock(&self.shared.state).current).finish_non_exhaustive()
    }
}

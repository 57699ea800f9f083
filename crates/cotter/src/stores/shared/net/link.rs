//! The link to a server: the current connection, replaced when it breaks.
//!
//! Each connection has a number, so that the loss of the one that carried an unanswered request is noticed.

use crate::sync::lock;
use crate::{Clock, Error, ErrorKind, Moment, Result};
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::yield_now;

/// Opens connections to one server with the same settings.
pub(crate) trait Open: Clone + Send + Sync + 'static {
    /// A connection, shared by many requests.
    type Live: Live;

    /// The scheme that errors name.
    const SCHEME: &'static str;

    /// Opens a connection, which the caller's runtime drives.
    fn open(&self) -> impl Future<Output = Result<Self::Live>> + Send;

    /// The time limit for the answer to a request.
    fn timeout(&self) -> Duration;

    /// What is waited for that is not the server.
    fn awaits(&self) -> Option<&'static str> {
        None
    }
}

/// A connection.
pub(crate) trait Live: fmt::Debug + Send + Sync + 'static {
    /// Whether it still works, as far as is known.
    fn is_usable(&self) -> bool;

    /// Whether the server may have closed the connection without the driver having had a chance to notice.
    fn may_be_stale(&self, now: impl FnOnce() -> Moment) -> bool;
}

/// A number for a connection, unique in this process.
pub(crate) fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The current connection, and what it takes to make the next one.
pub(crate) struct Link<C: Open> {
    pub(crate) connector: C,
    clock: Arc<dyn Clock>,
    shared: Arc<Shared<C::Live>>,
}

/// The part of a link that the connecting task needs too.
struct Shared<L> {
    state: Mutex<State<L>>,
    closed: AtomicBool,
}

struct State<L> {
    current: Option<Arc<L>>,
    /// The attempt to connect that is under way, or the last one.
    attempt: Option<Attempt<L>>,
    /// The runtime that drives the connections. Calls may come from others.
    runtime: Handle,
}

/// An attempt to connect, for all who wait for it. It runs in a task of its own, so that a caller that is dropped or not
/// polled does not hold up the others.
struct Attempt<L> {
    outcome: Outcome<L>,
    began: Moment,
}

/// `None` as long as the attempt is under way.
type Outcome<L> = watch::Receiver<Option<Result<Arc<L>>>>;

/// The longest time that a request may still be under way after the wait for its answer has timed out.
const MAX_TRANSIT: Duration = Duration::from_secs(10);
/// The time for which a failure to connect is the answer to later callers too.
const FAILURE_REUSE: Duration = Duration::from_millis(20);

impl<C: Open> Link<C> {
    /// Connects for the first time. The caller's runtime drives the connections from now on.
    pub(crate) async fn open(connector: C, clock: &Arc<dyn Clock>) -> Result<Arc<Self>> {
        let live = Arc::new(connector.open().await?);
        Ok(Arc::new(Self::with(connector, clock, Some(live))))
    }

    /// A link that connects with its first request, or when it is told to prepare.
    pub(crate) fn later(connector: C, clock: &Arc<dyn Clock>) -> Self {
        Self::with(connector, clock, None)
    }

    /// Connects in the background, unless an attempt is under way.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) fn prepare(&self) {
        let _ = self.attempt();
    }

    /// The current connection, whether it still works or not.
    pub(crate) fn current(&self) -> Option<Arc<C::Live>> {
        lock(&self.shared.state).current.clone()
    }

    fn with(connector: C, clock: &Arc<dyn Clock>, current: Option<Arc<C::Live>>) -> Self {
        let state = State { current, attempt: None, runtime: Handle::current() };
        let shared = Arc::new(Shared { state: Mutex::new(state), closed: AtomicBool::new(false) });
        Self { connector, clock: clock.clone(), shared }
    }

    /// Returns the current connection, or waits for the one that replaces it. Cancel safe.
    pub(crate) async fn live(&self) -> Result<Arc<C::Live>> {
        let Some(live) = self.usable()? else {
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
        match self.usable()? {
            Some(live) => Ok(live),
            None => Box::pin(self.replace()).await,
        }
    }

    /// Waits for an attempt to connect, for as long as a request waits for its answer.
    async fn replace(&self) -> Result<Arc<C::Live>> {
        let timeout = self.timeout();
        let over = self.now() + timeout;
        loop {
            let mut outcome = self.attempt()?;
            tokio::select! {
                biased;
                made = outcome.wait_for(Option::is_some) => match made.as_deref() {
                    Ok(Some(made)) => return made.clone(),
                    // The runtime that ran the attempt has ended. The next one runs in the caller's.
                    _ => self.change_runtime()?,
                },
                () = self.clock.sleep_until(over) => {
                    let late = timed_out("the connection", timeout).with_backend(C::SCHEME);
                    return Err(match self.connector.awaits() {
                        Some(what) => late.with_remark(what),
                        None => late,
                    });
                }
            }
        }
    }

    /// Returns the attempt to connect that is under way. Starts one if there is none, unless one has failed just now.
    fn attempt(&self) -> Result<Outcome<C::Live>> {
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
            let live = connector.open().await.map(Arc::new);
            shared.replace(live.as_ref().ok());
            sender.send_replace(Some(live));
            shared.forget_if_closed();
        });
        state.attempt = Some(Attempt { outcome: outcome.clone(), began: now });
        Ok(outcome)
    }

    fn usable(&self) -> Result<Option<Arc<C::Live>>> {
        if self.shared.closed.load(Ordering::Acquire) {
            let error = Error::new(ErrorKind::Unavailable, "the connection was closed").with_retryable(false);
            return Err(error.with_backend(C::SCHEME));
        }
        Ok(lock(&self.shared.state).current.as_ref().filter(|l| l.is_usable()).cloned())
    }

    /// Has the caller's runtime drive the connections from now on.
    fn change_runtime(&self) -> Result<()> {
        let mut state = lock(&self.shared.state);
        match Handle::try_current().ok().filter(|here| here.id() != state.runtime.id()) {
            Some(here) => state.runtime = here,
            None => {
                let why = "the runtime in which this connection was made has ended";
                return Err(Error::new(ErrorKind::Unavailable, why).with_backend(C::SCHEME));
            }
        }
        Ok(())
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The time by which a request that was sent at `sent` has arrived if it ever does.
    pub(crate) fn arrives_by(&self, sent: Moment) -> Moment {
        sent + self.timeout() + MAX_TRANSIT
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.connector.timeout()
    }

    /// Closes the link. The connection ends when its last request is answered.
    pub(crate) fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        lock(&self.shared.state).current = None;
        self.shared.forget_if_closed();
    }
}

impl<L: Live> Shared<L> {
    fn replace(&self, live: Option<&Arc<L>>) {
        if let Some(live) = live.filter(|_| !self.closed.load(Ordering::Acquire)) {
            lock(&self.state).current = Some(live.clone());
        }
    }

    /// The last attempt has the connection that it has opened.
    fn forget_if_closed(&self) {
        if self.closed.load(Ordering::Acquire) {
            let attempt = lock(&self.state).attempt.take();
            drop(attempt);
        }
    }
}

impl<C: Open> fmt::Debug for Link<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("current", &lock(&self.shared.state).current).finish_non_exhaustive()
    }
}

/// The error for something that was not open in time.
pub(crate) fn timed_out(what: &str, after: Duration) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{what} was not established within {after:?}"))
}

//! One connection that many share, and knowing when it was replaced.
//!
//! The driver's own manager reconnects in silence. Here every connection has a number, so that a request whose answer
//! never came is known to have been on one that is gone.

use super::SCHEME;
use super::errors::{self, Sent, explain};
use super::maker::{Maker, too_late};
use super::options::Options;
use super::socket::{Gauge, Server, never_sent};
use crate::{Clock, Error, ErrorKind, Moment, Result};
use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisError, RedisResult, Value};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::watch;
use tokio::task::{AbortHandle, yield_now};

/// The way to the server: the connection of now, and how to make the next one.
pub(super) struct Link {
    maker: Maker,
    clock: Arc<dyn Clock>,
    hub: Arc<Hub>,
}

/// What a link shares with the task that connects.
struct Hub {
    state: Mutex<State>,
    closed: AtomicBool,
}

struct State {
    current: Option<Arc<Live>>,
    /// The attempt to connect that is on its way, or the last one.
    attempt: Option<Attempt>,
    /// Where the driver runs. Calls may come from other runtimes.
    home: Handle,
}

/// One attempt for all who wait for it, in a task of its own: one of them that is dropped, or not polled, holds up
/// nobody.
struct Attempt {
    made: Made,
    began: Moment,
}

type Made = watch::Receiver<Option<Result<Arc<Live>>>>;

/// One connection.
pub(super) struct Live {
    wire: MultiplexedConnection,
    /// Never used again for another one in this process.
    pub(super) number: u64,
    /// The server is too old for script flags.
    pub(super) legacy: bool,
    gauge: Arc<Gauge>,
    /// Ends with this connection. The driver's own is in `wire`.
    driver: Option<AbortHandle>,
    /// Whether nobody drives it but the threads that call.
    driven_by_callers: bool,
    used: AtomicU64,
    answers: AtomicU64,
    broken: AtomicBool,
}

/// So long a request may be on its way after its answer was given up; as long as the engine repeats a clean-up.
const STRAY: Duration = Duration::from_secs(10);
/// A failure to connect is the answer to all who ask within this time.
const QUIET: Duration = Duration::from_millis(20);
/// After such a pause the driver has a look at its socket before the next request.
const IDLE: Duration = Duration::from_millis(10);

impl Link {
    /// Connects for the first time; the runtime of the caller drives this link from now on.
    pub(super) async fn open(
        server: &Server,
        options: &Options,
        clock: &Arc<dyn Clock>,
    ) -> Result<Arc<Self>> {
        server.way.check()?;
        let (maker, home) = (Maker::new(server, options), Handle::current());
        let live = Arc::new(maker.make().await?);
        let state = State { current: Some(live), attempt: None, home };
        let hub = Hub { state: Mutex::new(state), closed: AtomicBool::new(false) };
        Ok(Arc::new(Self { maker, clock: clock.clone(), hub: Arc::new(hub) }))
    }

    /// The connection of now; where there is none, the one that is being made. Cancel safe.
    pub(super) async fn live(&self) -> Result<Arc<Live>> {
        let Some(live) = self.hub.usable()? else {
            // Boxed, or every request would carry the room for it.
            return Box::pin(self.replace()).await;
        };
        if !live.driven_by_callers || !live.was_idle(self.now()) {
            return Ok(live);
        }
        // What has come meanwhile is seen first: perhaps that the socket was closed. The future of `block_on` is polled
        // before the tasks that an event has woken, so once is not enough.
        yield_now().await;
        yield_now().await;
        match self.hub.usable()? {
            Some(live) => Ok(live),
            None => Box::pin(self.replace()).await,
        }
    }

    /// Waits for the attempt to connect, no longer than for any answer.
    async fn replace(&self) -> Result<Arc<Live>> {
        let over = self.now() + self.maker.timeout;
        loop {
            let mut made = self.attempt()?;
            tokio::select! {
                biased;
                made = made.wait_for(Option::is_some) => match made.as_deref() {
                    Ok(Some(made)) => return made.clone(),
                    // The runtime that was to drive it has ended: next time it is that of the caller.
                    _ => self.hub.move_home()?,
                },
                () = self.clock.sleep_until(over) => return Err(too_late("the connection", self.maker.timeout)),
            }
        }
    }

    /// The attempt that is on its way. It begins now if there is none, and none has failed just now.
    fn attempt(&self) -> Result<Made> {
        let (now, mut state) = (self.now(), self.hub.state());
        if let Some(Attempt { made, began }) = &state.attempt {
            let is_the_answer = match &*made.borrow() {
                None => made.has_changed().is_ok(),
                Some(Err(_)) => now < *began + QUIET,
                Some(Ok(live)) => live.is_usable(),
            };
            if is_the_answer {
                return Ok(made.clone());
            }
        }
        let (tell, made) = watch::channel(None);
        let (hub, maker) = (self.hub.clone(), self.maker.clone());
        state.home.spawn(async move {
            let live = maker.make().await.map(Arc::new);
            hub.take(live.as_ref().ok());
            tell.send_replace(Some(live));
        });
        state.attempt = Some(Attempt { made: made.clone(), began: now });
        Ok(made)
    }

    /// Sends a command and waits for its answer; also tells when it was sent, at the latest.
    pub(super) async fn ask(&self, cmd: &Cmd) -> Result<(Value, Moment)> {
        let live = self.live().await?;
        let sent = self.clock.now();
        let value = live.ask(cmd).await.map_err(|e| explain(e, Sent::Yes))?;
        Ok((value, sent))
    }

    pub(super) fn now(&self) -> Moment {
        self.clock.now()
    }

    pub(super) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// A connection of its own for a subscription.
    pub(super) async fn subscribe(&self, channel: &str) -> Result<redis::aio::PubSub> {
        self.maker.subscribe(channel).await
    }

    /// What was sent at that time arrives by then, or never.
    pub(super) fn stray_until(&self, sent: Moment) -> Moment {
        sent + self.maker.timeout + STRAY
    }

    pub(super) fn timeout(&self) -> Duration {
        self.maker.timeout
    }

    /// The connection ends when the last request on it was answered; no new one is made.
    pub(super) fn close(&self) {
        self.hub.closed.store(true, Ordering::Release);
        self.hub.state().current = None;
    }
}

impl Hub {
    fn usable(&self) -> Result<Option<Arc<Live>>> {
        if self.closed.load(Ordering::Acquire) {
            let error = Error::new(ErrorKind::Unavailable, "the connection was closed").with_retryable(false);
            return Err(error.with_backend(SCHEME));
        }
        Ok(self.state().current.as_ref().filter(|l| l.is_usable()).cloned())
    }

    fn take(&self, live: Option<&Arc<Live>>) {
        if let Some(live) = live.filter(|_| !self.closed.load(Ordering::Acquire)) {
            self.state().current = Some(live.clone());
        }
    }

    /// The runtime of the caller drives the next connection.
    fn move_home(&self) -> Result<()> {
        let mut state = self.state();
        match Handle::try_current().ok().filter(|here| here.id() != state.home.id()) {
            Some(here) => state.home = here,
            None => {
                let why = "the runtime that this connection was made in has ended";
                return Err(Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME));
            }
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Live {
    pub(super) fn new(
        wire: MultiplexedConnection,
        legacy: bool,
        gauge: Arc<Gauge>,
        driver: Option<AbortHandle>,
    ) -> Self {
        Self {
            wire,
            number: next_number(),
            legacy,
            gauge,
            driver,
            driven_by_callers: Handle::current().runtime_flavor() != RuntimeFlavor::MultiThread,
            used: AtomicU64::new(0),
            answers: AtomicU64::new(0),
            broken: AtomicBool::new(false),
        }
    }

    fn is_usable(&self) -> bool {
        !self.broken.load(Ordering::Acquire) && !self.gauge.has_ended()
    }

    /// Whether it is used for the first time after a while.
    fn was_idle(&self, now: Moment) -> bool {
        let last = self.used.swap(now.as_nanos(), Ordering::Relaxed);
        now.since(Moment::from_nanos(last)) > IDLE
    }

    /// Sends a command and waits for its answer. Requests are carried out in the order of their first poll; one whose
    /// future is dropped is carried out all the same, unless it stood in front of a full buffer.
    pub(super) async fn ask(&self, cmd: &Cmd) -> RedisResult<Value> {
        let (before, written) = (self.answers.load(Ordering::Relaxed), self.gauge.written());
        let answer = cmd.query_async::<Value>(&mut self.wire.clone()).await;
        match answer {
            Ok(_) => _ = self.answers.fetch_add(1, Ordering::Relaxed),
            Err(ref e) => self.judge(e, before),
        }
        // Without a driver, and with nothing written since, the server has seen nothing of it.
        answer.map_err(|e| match self.driver.is_some() && e.is_connection_dropped() {
            true if self.gauge.written() == written => never_sent(),
            _ => e,
        })
    }

    /// Hands a command over without waiting.
    pub(super) async fn tell(&self, cmd: &mut Cmd) {
        cmd.set_no_response(true);
        let _ = cmd.query_async::<Value>(&mut self.wire.clone()).await;
    }

    /// Whether this connection is worth going on with. One on which nothing at all was answered while a request waited
    /// its whole time leads nowhere.
    fn judge(&self, e: &RedisError, answers_before: u64) {
        let silent = e.is_timeout() && self.answers.load(Ordering::Relaxed) == answers_before;
        if e.code().is_some() {
            self.answers.fetch_add(1, Ordering::Relaxed);
        }
        if silent || (!e.is_timeout() && e.is_unrecoverable_error()) || errors::is_demoted(e) {
            self.broken.store(true, Ordering::Release);
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.driver.iter().for_each(AbortHandle::abort);
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("current", &self.hub.state().current).finish_non_exhaustive()
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("number", &self.number).finish_non_exhaustive()
    }
}

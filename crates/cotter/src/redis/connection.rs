//! One connection that many share, and knowing when it was replaced.
//!
//! The driver's own manager reconnects in silence. Here every connection has a number, so that a request whose answer
//! never came is known to have been on one that is gone.

use super::SCHEME;
use super::faults::{self, Sent, explain};
use super::options::Options;
use super::script;
use crate::{Clock, Error, ErrorKind, Moment, Result};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, RedisError, RedisResult, Value};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;

/// The way to the server: the connection of now, and how to make the next one.
pub(super) struct Link {
    maker: Maker,
    /// Where the driver runs. Calls may come from other runtimes.
    home: Handle,
    clock: Arc<dyn Clock>,
    current: Mutex<Option<Arc<Live>>>,
    /// One connects, the others wait for it.
    connecting: tokio::sync::Mutex<()>,
    closed: AtomicBool,
}

#[derive(Clone)]
struct Maker {
    client: redis::Client,
    config: AsyncConnectionConfig,
    timeout: Duration,
    connect_timeout: Duration,
    name: String,
}

/// One connection.
pub(super) struct Live {
    wire: MultiplexedConnection,
    /// Never used again for another one in this process.
    pub(super) number: u64,
    /// The server is too old for script flags.
    pub(super) legacy: bool,
    answers: AtomicU64,
    broken: AtomicBool,
}

/// So many requests may stand before the driver before a sender has to wait. Few enough that the requests of many tasks go
/// out in several pieces: while the server answers one, the tasks that the last one woke write the next.
const BUFFER: usize = 32;

/// So long a request may be on its way after its answer was given up; as long as the engine repeats a clean-up.
const STRAY: Duration = Duration::from_secs(10);

impl Link {
    /// Connects for the first time; the runtime of the caller drives this link from now on.
    pub(super) async fn open(
        client: &redis::Client,
        options: &Options,
        clock: &Arc<dyn Clock>,
    ) -> Result<Arc<Self>> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(options.connect_timeout))
            .set_response_timeout(Some(options.timeout))
            .set_pipeline_buffer_size(BUFFER);
        let maker = Maker {
            client: client.clone(),
            config,
            timeout: options.timeout,
            connect_timeout: options.connect_timeout,
            name: options.client_name.clone(),
        };
        let link = Self {
            maker,
            home: Handle::current(),
            clock: clock.clone(),
            current: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
            closed: AtomicBool::new(false),
        };
        link.live().await?;
        Ok(Arc::new(link))
    }

    /// The connection of now, made if there is none. Cancel safe.
    pub(super) async fn live(&self) -> Result<Arc<Live>> {
        match self.usable()? {
            Some(live) => Ok(live),
            // Boxed, or every request would carry the room for it.
            None => Box::pin(self.replace()).await,
        }
    }

    async fn replace(&self) -> Result<Arc<Live>> {
        let _only_one = self.connecting.lock().await;
        if let Some(live) = self.usable()? {
            return Ok(live);
        }
        let live = Arc::new(self.connect().await?);
        *self.current() = Some(live.clone());
        Ok(live)
    }

    fn usable(&self) -> Result<Option<Arc<Live>>> {
        if self.closed.load(Ordering::Acquire) {
            let error = Error::new(ErrorKind::Unavailable, "the connection was closed").with_retryable(false);
            return Err(error.with_backend(SCHEME));
        }
        Ok(self.current().as_ref().filter(|l| !l.broken.load(Ordering::Acquire)).cloned())
    }

    /// On the runtime that drives this link, or on the caller's if that one has ended.
    async fn connect(&self) -> Result<Live> {
        if let Ok(made) = self.home.spawn(self.maker.clone().make()).await {
            return made;
        }
        self.maker.clone().make().await
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
        let opening = async {
            let mut ears = self.maker.client.get_async_pubsub().await?;
            ears.subscribe(channel).await?;
            Ok(ears)
        };
        match tokio::time::timeout(self.maker.connect_timeout, opening).await {
            Ok(opened) => opened.map_err(|e| explain(e, Sent::No)),
            Err(_) => Err(too_late("the subscription", self.maker.connect_timeout)),
        }
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
        self.closed.store(true, Ordering::Release);
        *self.current() = None;
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Option<Arc<Live>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_late(what: &str, after: Duration) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{what} was not open after {after:?}")).with_backend(SCHEME)
}

impl Maker {
    async fn make(self) -> Result<Live> {
        let made = async {
            let wire = self.client.get_multiplexed_async_connection_with_config(&self.config).await?;
            let name = redis::cmd("CLIENT").arg("SETNAME").arg(&self.name).to_owned();
            // Cosmetic; an ACL may forbid it.
            let _ = name.query_async::<Value>(&mut wire.clone()).await;
            let legacy = script::load_all(&wire).await?;
            Ok((wire, legacy))
        };
        let limit = self.connect_timeout + self.timeout;
        let made: RedisResult<_> =
            tokio::time::timeout(limit, made).await.map_err(|_| too_late("the connection", limit))?;
        let (wire, legacy) = made.map_err(|e| explain(e, Sent::No))?;
        Ok(Live {
            wire,
            number: next_number(),
            legacy,
            answers: AtomicU64::new(0),
            broken: AtomicBool::new(false),
        })
    }
}

fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Live {
    /// Sends a command and waits for its answer. Requests are carried out in the order of their first poll; one whose
    /// future is dropped is carried out all the same, unless it stood in front of a full buffer.
    pub(super) async fn ask(&self, cmd: &Cmd) -> RedisResult<Value> {
        let before = self.answers.load(Ordering::Relaxed);
        let answer = cmd.query_async::<Value>(&mut self.wire.clone()).await;
        match &answer {
            Ok(_) => _ = self.answers.fetch_add(1, Ordering::Relaxed),
            Err(e) => self.judge(e, before),
        }
        answer
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
        if silent || (!e.is_timeout() && e.is_unrecoverable_error()) || faults::is_demoted(e) {
            self.broken.store(true, Ordering::Release);
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("current", &*self.current()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("number", &self.number).finish_non_exhaustive()
    }
}

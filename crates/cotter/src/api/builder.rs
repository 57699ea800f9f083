//! Options before connecting.

use crate::backend::{Backend, Backoff, Connect, Host};
use crate::engine::{Core, Drift, Engine, Observer, Observers, Settings, crashed};
use crate::{Client, Clock, Error, ErrorKind, Event, LazyClient, Lease, Op, Result, api::url};
use std::sync::Arc;
use std::time::Duration;

/// Options to set before connecting; each has a default.
///
/// ```
/// # use cotter::{Client, Lease};
/// # use std::time::Duration;
/// # fn main() -> cotter::Result<()> {
/// let client = Client::builder()
///     .lease(Lease::renewed(Duration::from_secs(10)))
///     .label("deploy")
///     .connect("memory:")
///     .wait()?;
/// # let _ = client; Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until it connects"]
pub struct Builder {
    lease: Lease,
    label: Option<String>,
    local_turns: bool,
    drift: Drift,
    clock: Option<Arc<dyn Clock>>,
    in_this_runtime: bool,
    give_up: Duration,
    retry: Duration,
    observers: Vec<Observer>,
}

/// The pauses between two attempts to connect.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2)).with_jitter(0.25);

impl Default for Builder {
    fn default() -> Self {
        Self {
            lease: Lease::default(),
            label: None,
            local_turns: true,
            drift: Drift { ppm: 10_000, fixed: Duration::from_millis(2) },
            clock: None,
            in_this_runtime: false,
            give_up: Duration::from_secs(30),
            retry: Duration::ZERO,
            observers: Vec::new(),
        }
    }
}

impl Builder {
    /// The maximum length of a [label](Self::label), in bytes.
    pub const MAX_LABEL: usize = 256;

    /// Sets the lease of locks that do not set their own. Default: renewed, 30 s.
    pub fn lease(mut self, lease: Lease) -> Self {
        self.lease = lease;
        self
    }

    /// Sets a description of the holder that others can read, in addition to host and process. At most
    /// [`MAX_LABEL`](Self::MAX_LABEL) bytes.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets whether tasks of this process that want the same name pass the lock on among themselves, for up to 5 ms,
    /// before other processes get it. Default: yes. If not, every acquisition queues at the store separately, and a
    /// lock whose guard was just dropped may still be busy for the next `try_lock`.
    pub fn local_turns(mut self, yes: bool) -> Self {
        self.local_turns = yes;
        self
    }

    /// Sets how far the clock rates of this host and the store may differ: `ppm` of every lease, plus `fixed`, are not
    /// relied on. Default: 10,000 ppm and 2 ms. chrony may slew by up to 83,333 ppm. A lease that would lose more than
    /// half of its ttl in this way is refused: with the defaults, one of less than about 4.1 ms.
    pub fn drift(mut self, ppm: u32, fixed: Duration) -> Self {
        self.drift = Drift { ppm, fixed };
        self
    }

    /// Uses another clock, for tests; see [`ManualClock`](crate::ManualClock). The client gets its own engine thread.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Runs everything in the runtime that polls [`connect`](Self::connect), for tests with tokio's paused time.
    ///
    /// ```
    /// # use cotter::{Client, Lease};
    /// # use std::time::Duration;
    /// # async fn test() -> cotter::Result<()> {
    /// // In a #[tokio::test(start_paused = true)]:
    /// let client = Client::builder().in_this_runtime().connect("memory:").await?;
    /// let lease = Lease::fixed(Duration::from_secs(3600));
    /// let guard = client.mutex("nightly").lease(lease).lock().await?;
    /// tokio::time::sleep(Duration::from_secs(3600)).await; // takes no time
    /// assert!(!guard.is_valid());
    /// # Ok(()) }
    /// ```
    ///
    /// Not for production: while that runtime is busy, nothing is renewed.
    pub fn in_this_runtime(mut self) -> Self {
        self.in_this_runtime = true;
        self
    }

    /// Sets how long [`Mutex::lock`](crate::Mutex::lock) keeps trying without any answer from the store. Default: 30 s.
    ///
    /// The time begins when a request has failed, and the first failure after its end is returned. For a store that does not
    /// answer at all, each of the two may come later by the time limits of the store's requests; see the options of its URL.
    pub fn give_up(mut self, after: Duration) -> Self {
        self.give_up = after;
        self
    }

    /// Sets for how long connecting is tried again to a store that is away, because it is restarted or fails over: while an
    /// error says that trying again can help. An attempt that has begun by then is awaited. Default: it is tried once.
    ///
    /// ```
    /// # use cotter::Client;
    /// # use std::time::Duration;
    /// # fn main() -> cotter::Result<()> {
    /// let client = Client::builder().retry_connect(Duration::from_secs(30)).connect("memory:").wait()?;
    /// # let _ = client; Ok(()) }
    /// ```
    pub fn retry_connect(mut self, wait: Duration) -> Self {
        self.retry = wait;
        self
    }

    /// Adds an observer, which is told what happens to the locks of this client: for metrics, for logs of your own, for tests.
    /// Each call adds one; without one, nothing is recorded.
    ///
    /// ```
    /// # use cotter::{Client, EventKind};
    /// # fn main() -> cotter::Result<()> {
    /// # fn page_somebody(_: &cotter::Event) {}
    /// let client = Client::builder()
    ///     .observe(|event| {
    ///         if let EventKind::Lost { .. } = event.kind {
    ///             page_somebody(event);
    ///         }
    ///     })
    ///     .connect("memory:")
    ///     .wait()?;
    /// # let _ = client; Ok(()) }
    /// ```
    ///
    /// Observers run on a thread that all observers of the client share, a few milliseconds after the event. One that blocks
    /// delays the others and no lock; what does not fit into the queue of 8192 events is counted and told as
    /// [`EventKind::Dropped`](crate::EventKind::Dropped). One that panics is told of the next events all the same. The
    /// thread ends when the client and its guards are gone, after the last event; a process that ends earlier does not wait
    /// for it. An observer that owns a handle to its own client keeps both for ever.
    ///
    /// One event has no two meanings: a lock that its [`Owner`](crate::Owner) enters again is neither acquired nor released
    /// again, a writer that becomes a reader goes on, and each lock of a [`Multi`](crate::Multi) has events of its own. A
    /// call with an invalid name asks for nothing and has no event.
    ///
    /// A feature, `metrics`, has an observer for [the metrics crates](https://docs.rs/metrics).
    pub fn observe(mut self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observers.push(Observer::new(observer));
        self
    }

    /// Returns the statements that create the tables that the store at this URL needs, for a review, or for another account
    /// to run; `None` for stores that need none. Nothing is sent, so that this also checks a URL.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) if the URL is wrong.
    pub fn schema(&self, url: impl AsRef<str>) -> Result<Option<String>> {
        url::parse(url.as_ref()).map(|store| store.schema())
    }

    /// Creates any tables that the store at this URL needs and that are missing; no other call creates any. Does nothing for
    /// stores that need none. On the command line, this is `cotter migrate`.
    ///
    /// Cancel safety: a dropped call may or may not have created them; repeat it.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) if the URL is wrong,
    /// [`ErrorKind::Denied`](crate::ErrorKind::Denied) without the privilege, and any other error of the store.
    pub fn migrate(self, url: impl AsRef<str>) -> Op<()> {
        self.prepare(url::parse(url.as_ref()))
    }

    /// Like [`migrate`](Self::migrate), for a store that was constructed in code.
    ///
    /// # Errors
    /// As [`migrate`](Self::migrate).
    pub fn migrate_store(self, store: impl Connect) -> Op<()> {
        self.prepare(Ok(Arc::new(store)))
    }

    /// Connects to the store at this URL; see [`Client::connect`].
    ///
    /// Cancel safety: a dropped call leaves nothing behind.
    ///
    /// # Errors
    /// As [`Client::connect`]; [`ErrorKind::InvalidInput`] for an option value that cannot work.
    pub fn connect(self, url: impl AsRef<str>) -> Op<Client> {
        self.open(url::parse(url.as_ref()))
    }

    /// Connects to a store that was constructed in code: a clone of a [`memory::Store`](crate::memory::Store) that several
    /// clients share, a store with the settings of its `with_…` methods, or your own [backend](crate::backend).
    ///
    /// ```
    /// # use cotter::{Client, memory};
    /// # fn main() -> cotter::Result<()> {
    /// let store = memory::Store::new();
    /// let (one, other) = (Client::builder().connect_to(store.clone()).wait()?, Client::builder().connect_to(store).wait()?);
    /// let guard = one.mutex("backup").lock().wait()?;
    /// assert!(other.mutex("backup").try_lock().wait()?.is_none());
    /// # drop(guard); Ok(()) }
    /// ```
    ///
    /// Cancel safety: a dropped call leaves nothing behind.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_to(self, store: impl Connect) -> Op<Client> {
        self.open(Ok(Arc::new(store)))
    }

    /// Returns a client that connects when it is first asked for, so that a service can start while its store is away. The URL
    /// is checked at once; nothing is sent.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] if the URL is wrong.
    pub fn connect_lazy(self, url: impl AsRef<str>) -> Result<LazyClient> {
        Ok(LazyClient::new(self, url::parse(url.as_ref())?))
    }

    fn prepare(self, store: Result<Arc<dyn Connect>>) -> Op<()> {
        Op::detached(async move {
            let (engine, store) = (self.engine()?, store?);
            let migrating = engine.spawn(async move { store.migrate().await });
            migrating.await.unwrap_or_else(|e| Err(crashed(&e)))
        })
    }

    fn open(self, store: Result<Arc<dyn Connect>>) -> Op<Client> {
        Op::detached(async move {
            let (engine, store) = (self.engine()?, store?);
            let tasks = engine.tasks();
            let host = Host::engine(engine.clock().clone(), tasks.clone());
            let backend = reach(&engine, &store, &host, self.retry).await?;
            self.lease.check(&backend.info().capabilities, self.drift)?;
            let settings = Settings {
                lease: self.lease,
                label: label(self.label.as_deref())?.into(),
                local_turns: self.local_turns,
                drift: self.drift,
                give_up: self.give_up,
                observers: Observers::start(self.observers)?,
            };
            Ok(Client::new(Core::new(engine, store, (backend, tasks), settings)))
        })
    }

    fn engine(&self) -> Result<Arc<Engine>> {
        if self.in_this_runtime {
            let handle = tokio::runtime::Handle::try_current().map_err(|e| {
                let why = "in_this_runtime() needs a tokio runtime around connect()";
                Error::new(ErrorKind::Misuse, why).with_source(e)
            })?;
            return Ok(Engine::in_runtime(handle));
        }
        match &self.clock {
            Some(clock) => Engine::on_clock(clock.clone()),
            None => Engine::process(),
        }
    }
}

/// Tries again until the time has passed.
async fn reach(
    engine: &Engine,
    store: &Arc<dyn Connect>,
    host: &Host,
    wait: Duration,
) -> Result<Arc<dyn Backend>> {
    let (mut pauses, clock) = (PAUSES, host.clock());
    let end = clock.now() + wait;
    loop {
        let (connector, host) = (store.clone(), host.clone());
        let connecting = engine.spawn(async move { connector.connect(&host).await });
        let failed = match connecting.await.unwrap_or_else(|e| Err(crashed(&e))) {
            Err(e) if e.is_retryable() => e,
            opened => return opened,
        };
        let now = clock.now();
        if now >= end {
            return Err(failed);
        }
        clock.sleep_until(end.min(now + pauses.pause())).await;
    }
}

/// `host/pid`, and what the user adds in brackets.
fn label(text: Option<&str>) -> Result<String> {
    let text = text.unwrap_or_default();
    let longest = Builder::MAX_LABEL;
    if text.len() > longest || text.chars().any(char::is_control) {
        let why = format!("a label must have at most {longest} bytes and no control characters");
        return Err(Error::new(ErrorKind::InvalidInput, why));
    }
    let host = crate::sys::host_name();
    let who = format!("{host}/{}", std::process::id());
    Ok(if text.is_empty() { who } else { format!("{who} ({text})") })
}

//! Connecting with the options of a builder, and creating the tables of a store.

use super::Builder;
use crate::backend::{Backend, Backoff, Connect, Host};
use crate::engine::{Core, Engine, Observers, Settings, crashed};
use crate::{Client, Error, ErrorKind, LazyClient, Op, Result, api::url};
use std::sync::Arc;
use std::time::Duration;

/// The pauses between two attempts to connect.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2)).with_jitter(0.25);

impl Builder {
    /// Returns the statements that create the tables that the store at this URL needs, for a review, or for another account
    /// to run; `None` for stores that need none. Nothing is sent, so that this also checks a URL. They can be repeated, and be a
    /// part of a migration of the application's own: they neither begin nor end a transaction.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) if the URL is wrong.
    pub fn schema(&self, url: impl AsRef<str>) -> Result<Option<String>> {
        url::parse(url.as_ref()).map(|store| store.schema())
    }

    /// Returns the statements that drop the tables and functions that [`schema`](Self::schema) creates, and so undo a migration
    /// with them; `None` for stores that need none, and for a table that other clients share. Nothing is sent.
    ///
    /// Nobody may use the store any more when they are run: locks, notes and the last tokens are gone with the tables.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) if the URL is wrong.
    pub fn drop_statements(&self, url: impl AsRef<str>) -> Result<Option<String>> {
        url::parse(url.as_ref()).map(|store| store.drop_statements())
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

    /// Like [`connect_lazy`](Self::connect_lazy), for a store that was constructed in code: with a driver's settings, with passwords
    /// by callback, or in memory, to test a service whose store is away when it starts.
    ///
    /// ```
    /// # use cotter::{Client, ErrorKind, memory};
    /// # fn main() -> cotter::Result<()> {
    /// let faults = memory::Faults::new();
    /// faults.set_down(true);
    /// let locks = Client::builder().connect_lazy_to(memory::Store::with_faults(&faults));
    /// assert_eq!(locks.get().wait().unwrap_err().kind(), ErrorKind::Unavailable);
    /// faults.set_down(false);
    /// locks.get().wait()?.mutex("order:7").lock().wait()?.finish().wait()
    /// # }
    /// ```
    pub fn connect_lazy_to(self, store: impl Connect) -> LazyClient {
        LazyClient::new(self, Arc::new(store))
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

//! Clients.

use crate::backend::Info;
use crate::engine::{Core, crashed, resume};
use crate::{
    Admin, Builder, Clock, Election, Error, Filter, Guard, Latch, Mutex, Name, Op, Record, RwLock, Semaphore,
    Ticket,
};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A connection to a store. Cheap to clone; all clones share one connection and one queue per name.
///
/// ```
/// # use std::time::Duration;
/// # fn main() -> cotter::Result<()> {
/// let client = cotter::Client::connect("memory:").wait()?;
/// let guard = client.mutex("orders:cleanup").lock().wait()?;
/// println!("held with token {}", guard.token());
/// guard.finish().wait()?;
/// client.close(Duration::from_secs(5)).wait()?;
/// # Ok(()) }
/// ```
///
/// Dropping the last clone does not release locks: guards keep what they need alive. Call [`close`](Self::close) before
/// the process ends, so that the last releases are sent.
#[must_use = "a client that is dropped at once has connected for nothing"]
#[derive(Clone)]
pub struct Client(Arc<Core>);

impl Client {
    pub(crate) fn new(core: Core) -> Self {
        Self(Arc::new(core))
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.0
    }

    /// Connects to the store at this URL, with the defaults of [`Builder`].
    ///
    /// | URL | store |
    /// |---|---|
    /// | `memory:` | this client and its clones |
    /// | `file:` | a directory of this user on this host |
    /// | `file:///DIR` | that directory |
    /// | `flock:/PATH` | the lock that flock(1) takes on that path |
    /// | `redis://HOST/DB`, `rediss://`, `unix:///SOCKET` | a Redis or Valkey server (feature `redis`) |
    /// | `redis+sentinel://HOST,HOST,HOST/SERVICE`, `rediss+sentinel://` | the master that these sentinels name (feature `redis`) |
    /// | `redis+cluster://HOST,HOST,HOST`, `rediss+cluster://` | the cluster that these nodes belong to (feature `redis`) |
    /// | `redlock://HOST,HOST,HOST`, `redlocks://` | a majority of independent Redis servers (feature `redis`) |
    /// | `etcd://HOST,HOST` | an etcd cluster (feature `etcd`) |
    /// | `zookeeper://HOST,HOST/PATH` | a ZooKeeper ensemble (feature `zookeeper`) |
    /// | `postgres://HOST/DATABASE` | a PostgreSQL database (feature `postgres`) |
    /// | `mysql://HOST/DATABASE`, `mariadb://` | a MySQL or MariaDB database (feature `mysql`) |
    /// | `sqlite:///PATH` | an SQLite database on this host (feature `sqlite`) |
    ///
    /// The options of each URL are in [stores.md].
    ///
    /// Cancel safety: a dropped call leaves nothing behind.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) if the URL or the setup is wrong; the error names the part.
    /// [`ErrorKind::Denied`](crate::ErrorKind::Denied) if the store refuses.
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the store cannot be reached at the moment.
    /// [`ErrorKind::Misuse`](crate::ErrorKind::Misuse) for SQLite in a fork of a process that uses it.
    ///
    /// [stores.md]: https://github.com/cotter-rs/cotter/blob/v0.1.0/docs/stores.md
    pub fn connect(url: impl AsRef<str>) -> Op<Self> {
        Self::builder().connect(url)
    }

    /// Returns a builder with the options to set before connecting.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Returns the exclusive lock with this name. An invalid name is reported by the first operation, before any I/O.
    pub fn mutex(&self, name: impl AsRef<str>) -> Mutex {
        Mutex::new(self.0.clone(), name.as_ref())
    }

    /// Returns the readers-writer lock with this name; the `mutex` of the same name is its writer side.
    pub fn rwlock(&self, name: impl AsRef<str>) -> RwLock {
        RwLock::new(self.0.clone(), name.as_ref())
    }

    /// Returns the semaphore with this name and this many permits. The first acquisition reports a limit of zero,
    /// before any I/O, and a limit that differs from that of others [while it is in use](Semaphore#the-limit).
    pub fn semaphore(&self, name: impl AsRef<str>, of: u32) -> Semaphore {
        Semaphore::new(self.0.clone(), name.as_ref(), of)
    }

    /// Returns the count-down latch with this name; it is unrelated to a lock of the same name.
    pub fn latch(&self, name: impl AsRef<str>) -> Latch {
        Latch::new(self.0.clone(), name.as_ref())
    }

    /// Returns the election with this name, whose leader holds the lock of the same name.
    pub fn election(&self, name: impl AsRef<str>) -> Election {
        Election::new(self.0.clone(), name.as_ref())
    }

    /// Returns the calls of an operator: listing and evicting locks, examining the store.
    pub fn admin(&self) -> Admin {
        Admin::new(self.0.clone())
    }

    /// Returns a description of the store, with its level and its capabilities.
    pub fn info(&self) -> &Info {
        self.0.backend.info()
    }

    /// Returns the record of a name that is currently held; `None` if the name is free.
    ///
    /// The answer may be out of date by the time it arrives: never use it to decide whether to work without the lock.
    ///
    /// Cancel safe: it only reads.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the store did not answer,
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the store cannot tell.
    pub fn holder(&self, name: impl AsRef<str>) -> Op<Option<Record>> {
        let (core, name) = (self.0.clone(), Name::new(name));
        Op::new(&self.0.engine, async move {
            core.usable()?;
            let (asked, name) = (core.clone(), name?);
            let filter = Filter::exactly(&name);
            let list = async move { asked.admin()?.list(&filter, None).await };
            let page = core.on_engine(list).await.map_err(|e| e.with_name(&name))?;
            Ok(page.records.into_iter().next())
        })
    }

    /// Returns the error that currently keeps the tasks of this client from acquiring the lock they wait for: the store does
    /// not respond, or refuses their requests. They keep retrying. Returns `None` if no task of this client waits for the
    /// lock, or if they only wait for its holders.
    ///
    /// This sends no request. It is meant for telling people why a wait takes so long; the waiting call itself returns the
    /// error if it lasts.
    pub fn wait_error(&self, name: impl AsRef<str>) -> Option<Error> {
        self.0.lines.trouble(&Name::new(name).ok()?)
    }

    /// Resumes the lock of a [`Ticket`], once: a second attempt with the same ticket fails. From then on, the lease is
    /// the client's default lease, and is renewed if that one is.
    ///
    /// Cancel safety: if the call is dropped, the lock is released.
    ///
    /// # Errors
    /// [`ErrorKind::Lost`](crate::ErrorKind::Lost) if the ticket has already been used or has run out, or if its lock
    /// was evicted or otherwise taken away; [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where the store
    /// has no tickets; [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the store does not answer for 30 s
    /// ([`Builder::give_up`]). If the outcome is [unknown](crate::Error::outcome_unknown), the lock is released.
    pub fn resume(&self, ticket: &Ticket) -> Op<Guard> {
        Op::new(&self.0.engine, resume(self.0.clone(), ticket.clone()))
    }

    /// Returns the time of day by the store's clock, where it has one.
    ///
    /// Cancel safe: it only reads.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the store did not answer.
    pub fn time(&self) -> Op<Option<SystemTime>> {
        let core = self.0.clone();
        Op::new(&self.0.engine, async move {
            core.usable()?;
            let asked = core.clone();
            core.on_engine(async move { asked.backend.time().await }).await
        })
    }

    /// Returns the clock that deadlines and leases are measured on: the one passed to [`Builder::clock`], otherwise the
    /// system's. Code that sleeps on it can be tested with a [`ManualClock`](crate::ManualClock).
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.0.clock().clone()
    }

    /// Closes the client: accepts no more work, waits for up to `grace` until the guards of all clones are released and
    /// the background work is done, then ends the connection. Guards that remain are lost, with the cause
    /// [`Closed`](crate::LossCause::Closed), and their locks are released.
    ///
    /// A process that ends without closing its client may leave its last releases unsent; those locks are free when
    /// their leases end.
    ///
    /// Cancel safety: once polled, closing continues on the engine even if the call is dropped. A second call returns at
    /// once.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the store did not answer all releases in time,
    /// [`ErrorKind::Misuse`](crate::ErrorKind::Misuse) in a fork of the process that connected.
    pub fn close(&self, grace: Duration) -> Op<()> {
        let core = self.0.clone();
        Op::new(&self.0.engine, async move {
            core.not_forked()?;
            let engine = core.engine.clone();
            engine.spawn(core.close(grace)).await.unwrap_or_else(|e| Err(crashed(&e)))
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("store", &self.0.backend.info().instance).finish_non_exhaustive()
    }
}

//! A connected store.

use crate::backend::{EvictOrder, Info};
use crate::engine::{Core, crashed};
use crate::listing::Records;
use crate::{Builder, Clock, Eviction, Filter, Finding, Mutex, Name, Op, Record, RwLock};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A connected store. Cheap to clone; all clones share one connection and one queue per name.
///
/// ```
/// # fn main() -> cotter::Result<()> {
/// let client = cotter::Client::connect("memory:").wait()?;
/// let guard = client.mutex("orders:cleanup").lock().wait()?;
/// println!("held with token {}", guard.token());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client(Arc<Core>);

impl Client {
    pub(crate) fn new(core: Core) -> Self {
        Self(Arc::new(core))
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.0
    }

    /// Connects to the store of this URL, with the defaults of [`Builder`].
    ///
    /// | URL | store |
    /// |---|---|
    /// | `memory:` | this client; nobody else sees it |
    /// | `file:` | a directory of this user on this host |
    /// | `file:///DIR` | that directory |
    /// | `redis://HOST/DB`, `rediss://`, `unix:///SOCKET` | a Redis or Valkey server (feature `redis`) |
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) names the part of the URL that is wrong; otherwise whatever
    /// keeps the store from being used.
    pub fn connect(url: impl AsRef<str>) -> Op<Self> {
        Self::builder().url(url).connect()
    }

    /// More choices before connecting.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The exclusive lock of this name. A bad name is told by the first operation, before any I/O.
    pub fn mutex(&self, name: impl AsRef<str>) -> Mutex {
        Mutex::new(self.0.clone(), name.as_ref())
    }

    /// The lock of this name for readers and writers; `mutex` of the same name is its writer's side.
    pub fn rwlock(&self, name: impl AsRef<str>) -> RwLock {
        RwLock::new(self.0.clone(), name.as_ref())
    }

    /// What the store is and can do.
    pub fn info(&self) -> &Info {
        self.0.backend.info()
    }

    /// The locks that match, read page by page.
    pub fn list(&self, filter: Filter) -> Records {
        Records::new(self.0.clone(), filter)
    }

    /// Who holds a name now; `None` when nobody does.
    ///
    /// # Errors
    /// The store did not answer, or cannot look.
    pub fn holder(&self, name: impl AsRef<str>) -> Op<Option<Record>> {
        let (core, name) = (self.0.clone(), Name::new(name));
        Op::new(&self.0.engine, async move {
            core.usable()?;
            let (asked, name) = (core.clone(), name?);
            let list = async move { asked.admin()?.list(&Filter::exactly(&name), None).await };
            Ok(core.on_engine(list).await?.records.into_iter().next())
        })
    }

    /// Takes the lock away: its holder is told at its next renewal, and it passes on when the lease ends.
    ///
    /// # Errors
    /// The store did not answer, or cannot do it.
    pub fn evict(&self, name: impl AsRef<str>) -> Op<Eviction> {
        self.evict_with(name, EvictOrder::default())
    }

    /// The same, only for the holder with a certain token, or at once, which voids the exclusion: the holder may go
    /// on working for up to its ttl.
    ///
    /// # Errors
    /// As [`evict`](Self::evict).
    pub fn evict_with(&self, name: impl AsRef<str>, order: EvictOrder) -> Op<Eviction> {
        let (core, name) = (self.0.clone(), Name::new(name));
        Op::new(&self.0.engine, async move {
            core.usable()?;
            let (asked, name) = (core.clone(), name?);
            core.on_engine(async move { asked.admin()?.evict(&name, order).await }).await
        })
    }

    /// The store's clock, where it has one.
    ///
    /// # Errors
    /// The store did not answer.
    pub fn time(&self) -> Op<Option<SystemTime>> {
        let core = self.0.clone();
        Op::new(&self.0.engine, async move {
            let asked = core.clone();
            core.on_engine(async move { asked.backend.time().await }).await
        })
    }

    /// The clock that deadlines and leases are kept on here: the one that was given to
    /// [`Builder::clock`], else the system's. What sleeps on it can be tested with [`ManualClock`](crate::ManualClock).
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.0.clock().clone()
    }

    /// What is worth knowing about this store: what it promises, and what in its set-up voids that.
    ///
    /// # Errors
    /// The store did not answer.
    pub fn diagnose(&self) -> Op<Vec<Finding>> {
        let core = self.0.clone();
        Op::new(&self.0.engine, async move {
            let asked = core.clone();
            core.on_engine(async move { asked.admin()?.diagnose().await }).await
        })
    }

    /// Takes no more work, waits up to `grace` until the guards of all clones are given back and what runs in the
    /// background is settled, then ends the connection. Guards that are left are lost, with the cause
    /// [`Closed`](crate::LossCause::Closed), and their locks are given back.
    ///
    /// A process that ends without this may leave its last releases unsent; those leases run out.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) when the store did not answer all releases in time.
    pub fn close(&self, grace: Duration) -> Op<()> {
        let core = self.0.clone();
        Op::new(&self.0.engine, async move {
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

#[allow(dead_code, reason = "it only has to compile")]
fn assert_shapes() {
    fn shared<T: Send + Sync + 'static>() {}
    fn owned<T: Send + Unpin + 'static>() {}
    shared::<Client>();
    shared::<Mutex>();
    shared::<crate::Guard>();
    owned::<Op<crate::Guard>>();
    owned::<crate::LossSignal>();
}

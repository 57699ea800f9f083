//! Options before connecting.
//!
//! | file | concept |
//! |---|---|
//! | `connecting` | connecting with them, now or later; the tables of the store |

mod connecting;

use crate::engine::{Drift, Observer};
use crate::{Clock, Event, Lease};
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
}

//! A store under test.

use super::sessions::Shared;
use super::waiters::Waiter;
use crate::backend::{Backend, Claim, Connect, EvictOrder, Grant, Host, Leave, Mode, Until};
use crate::engine::{Engine, Tasks};
use crate::{Clock, Eviction, Filter, Moment, Name};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A store under test; every connection represents a process.
pub struct Fixture {
    store: Arc<dyn Connect>,
    clock: Arc<dyn Clock>,
    /// Keeps alive the store's temporary folder or server.
    _keep: Box<dyn std::any::Any>,
    prefix: String,
    remove: Option<Remove>,
    end_sessions: Option<Box<dyn Fn()>>,
    wait_elsewhere: Option<WaitElsewhere>,
    /// The most names that are held at once.
    pub(super) most_held: usize,
    /// The longest name, in bytes.
    pub(super) longest_name: usize,
    tasks: Arc<Tasks>,
}

/// Removes a lock from the store.
type Remove = Box<dyn Fn(&Name)>;
/// Starts a process that waits for a lock.
type WaitElsewhere = Box<dyn Fn(&Name) -> Box<dyn Waiter>>;

/// Long enough for any store on a busy machine, and shorter than [`TTL`]: the end of a lease must not stand for a wake-up.
pub(super) const SOON: Duration = Duration::from_secs(15);
/// Long enough to see that an event does not happen.
pub(super) const WHILE: Duration = Duration::from_millis(60);
pub(super) const TTL: Duration = Duration::from_secs(20);

impl Fixture {
    /// Creates a fixture for a store that several connections share.
    pub fn sharing(store: impl Connect) -> Self {
        Self::keeping(store, ())
    }

    /// Like [`sharing`](Self::sharing), with a value that must live as long as the fixture.
    ///
    /// # Panics
    /// If the engine cannot be started.
    pub fn keeping(store: impl Connect, keep: impl std::any::Any) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let engine = Engine::process().expect("the engine starts");
        let (clock, tasks) = (engine.clock().clone(), engine.tasks());
        let prefix = format!("c{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self {
            store: Arc::new(store),
            clock,
            _keep: Box::new(keep),
            prefix,
            remove: None,
            end_sessions: None,
            wait_elsewhere: None,
            most_held: usize::MAX,
            longest_name: Name::MAX_BYTES,
            tasks,
        }
    }

    /// Sets how to remove a lock from the store behind its holder's back, as an operator's `DEL` or `rm` would.
    /// Without it, the cases that need this evict the holder, if the store can.
    #[must_use]
    pub fn removing(mut self, remove: impl Fn(&Name) + 'static) -> Self {
        self.remove = Some(Box::new(remove));
        self
    }

    /// Sets how to end every session of this fixture behind its back, as a server does with a client that is silent for
    /// too long; not those of other fixtures, whose cases run at the same time. Setting it declares that the store has
    /// sessions that a server can end, and that its grants have no ttl.
    #[must_use]
    pub fn ending_sessions(mut self, end: impl Fn() + 'static) -> Self {
        self.end_sessions = Some(Box::new(end));
        self
    }

    /// Sets how to start another process that waits for a lock of the store; it returns once that one has waited for a moment.
    /// Without it, nobody is killed or stopped.
    #[must_use]
    pub fn waiting_elsewhere(mut self, wait: impl Fn(&Name) -> Box<dyn Waiter> + 'static) -> Self {
        self.wait_elsewhere = Some(Box::new(wait));
        self
    }

    /// Sets the maximum length of a name, in bytes: for stores on tables of another program that have no room for more.
    #[must_use]
    pub fn names_up_to(mut self, bytes: usize) -> Self {
        self.longest_name = bytes;
        self
    }

    /// Sets how many names a case may hold at once: for stores where each lock has its own session, and the server has
    /// no more.
    #[must_use]
    pub fn holding_at_most(mut self, names: usize) -> Self {
        self.most_held = names;
        self
    }

    /// Returns false if sessions end only with their process.
    pub(super) fn has_sessions(&self) -> bool {
        self.end_sessions.is_some()
    }

    pub(super) fn end_sessions(&self) {
        self.end_sessions.iter().for_each(|end| end());
    }

    /// Starts another process that waits for a lock, if that is possible.
    pub(super) fn wait_elsewhere(&self, name: &str) -> Option<Box<dyn Waiter>> {
        self.wait_elsewhere.as_ref().map(|wait| wait(&self.name(name)))
    }

    /// Returns the store, for a separate client.
    pub(super) fn store(&self) -> Shared {
        Shared(self.store.clone())
    }

    /// Removes a lock without notifying its holder. Returns false where that is not possible.
    pub(super) async fn remove(&self, by: &Arc<dyn Backend>, name: &Name) -> bool {
        if let Some(remove) = &self.remove {
            remove(name);
            return true;
        }
        let Some(admin) = by.admin() else { return false };
        let order = EvictOrder::new().at_once();
        matches!(admin.evict(name, order).await.expect("answers"), Eviction::Evicted { .. })
    }

    pub(super) fn block_on(self, case: impl AsyncFnOnce(&Self)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let done = tokio::time::timeout(Duration::from_secs(60), case(&self));
            done.await.expect("the case ends within a minute");
        });
    }

    pub(super) async fn connect(&self) -> Arc<dyn Backend> {
        let host = Host::engine(self.clock.clone(), self.tasks.clone());
        self.store.connect(&host).await.expect("the store can be reached")
    }

    /// Returns a name that no other case uses.
    pub(super) fn name(&self, name: &str) -> Name {
        Name::new(format!("{}{name}", self.prefix)).expect("a good name")
    }

    pub(super) fn claim(&self, name: &str) -> Claim {
        self.claim_as(name, Mode::Exclusive)
    }

    pub(super) fn claim_as(&self, name: &str, mode: Mode) -> Claim {
        let label = "host/1 (conformance)".into();
        Claim { label, ..Claim::new(self.name(name), mode, TTL) }
    }

    /// Waits until this many claims are queued for the lock "a". If the store does not report them, waits for a while.
    pub(super) async fn queued(&self, by: &Arc<dyn Backend>, waiters: usize) {
        let Some(admin) = by.admin() else { return settle().await };
        let (filter, until) = (Filter::exactly(&self.name("a")), self.now() + SOON);
        loop {
            let page = admin.list(&filter, None).await.expect("answers");
            let Some(waiting) = page.records.first().and_then(|record| record.waiters) else {
                return settle().await;
            };
            if waiting as usize >= waiters {
                return;
            }
            assert!(self.now() < until, "{waiting} wait, not {waiters}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    pub(super) fn now(&self) -> Moment {
        self.clock.now()
    }

    pub(super) fn soon(&self) -> Until {
        Until::Moment(self.now() + SOON)
    }

    pub(super) fn within(&self, d: Duration) -> Until {
        Until::Moment(self.now() + d)
    }
}

impl fmt::Debug for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixture").field("store", &self.store).finish_non_exhaustive()
    }
}

/// Makes one attempt that must be granted.
pub(super) async fn take(backend: &Arc<dyn Backend>, claim: &Claim) -> Grant {
    let answer = backend.acquire(claim, Until::Now).await.expect("the store answers").granted();
    answer.unwrap_or_else(|| panic!("{} should be free", claim.name))
}

/// Makes one attempt that must find the lock busy.
pub(super) async fn is_busy(backend: &Arc<dyn Backend>, claim: &Claim) {
    let answer = backend.acquire(claim, Until::Now).await.expect("the store answers").granted();
    assert!(answer.is_none(), "{} should be busy", claim.name);
}

/// Releases a claim after one used turn.
pub(super) async fn give(backend: &Arc<dyn Backend>, claim: &Claim) {
    let answer = backend.release(claim, used(1)).await.expect("the store answers");
    assert_eq!(answer.found(), crate::backend::Found::Held);
}

pub(super) fn used(turns: u16) -> Leave {
    Leave { used: turns, keep_for: None }
}

/// Waits for the claim in a separate task.
pub(super) fn wait_in_task(
    backend: &Arc<dyn Backend>,
    claim: &Claim,
    until: Until,
) -> tokio::task::JoinHandle<Option<Grant>> {
    let (backend, claim) = (backend.clone(), claim.clone());
    tokio::spawn(async move { backend.acquire(&claim, until).await.expect("the store answers").granted() })
}

/// Gives what was just started a while.
pub(super) async fn settle() {
    tokio::time::sleep(WHILE).await;
}

/// Asserts that an unsupported operation was refused as such.
pub(super) fn refused<T: fmt::Debug>(answer: crate::Result<T>) {
    let error = answer.expect_err("what the store cannot do is refused");
    assert_eq!(error.kind(), crate::ErrorKind::Unsupported, "{error}");
}

/// Polls a future once. Returns true if it is ready.
pub(super) async fn poll_once<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|cx| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(cx).is_ready()))
        .await
}

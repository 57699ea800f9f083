//! The exclusive lock.

use crate::api::request::LockRequest;
use crate::engine::{Core, Wait};
use crate::{Guard, Lease, Mode, Name, Op, Owner, Result};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A named exclusive lock: one holder among all processes that use the same store.
///
/// **Is this the lock you want?** Yes, if only one holder at a time may do something, and the others should wait or
/// give up. No, if a database transaction covers the work anyway (use its row lock), if a lost update would be noticed
/// and retried (use a version column), or if the work must never be done twice under any circumstances: no lease can
/// promise that, only a resource that checks the [token](Guard::token) can.
///
/// ```
/// # use cotter::Client;
/// # use std::time::Duration;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> cotter::Result<()> {
/// # let client = Client::connect("memory:").await?;
/// let cleanup = client.mutex("orders:cleanup");
/// let guard = cleanup.lock().await?; // waits for its turn
/// assert!(cleanup.try_lock().await?.is_none(), "a busy lock is not an error");
/// guard.finish().await?; // fails if the lock was lost on the way
///
/// if let Some(guard) = cleanup.try_lock_for(Duration::from_secs(5)).await? {
///     guard.finish().await?;
/// }
/// # Ok(()) }
/// ```
///
/// | Redisson | cotter |
/// |---|---|
/// | `lock()` | `lock()`, with an [`owner`](Self::owner) if it is re-entered |
/// | `tryLock()` | `try_lock()` |
/// | `tryLock(time)` | `try_lock_for(time)` |
/// | `tryLock(wait, lease)` | `lease(Lease::fixed(lease)).try_lock_for(wait)` |
/// | `unlock()` | `finish()`, `release()`, or drop the guard |
/// | watchdog | [`Lease::renewed`], the default |
#[must_use = "a handle holds nothing; call lock() or one of its siblings"]
#[derive(Clone)]
pub struct Mutex(LockRequest);

impl Mutex {
    pub(crate) fn new(core: Arc<Core>, name: &str) -> Self {
        Self(LockRequest::new(core, name))
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        self.0.core()
    }

    /// Returns the name of the lock.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`](crate::ErrorKind::InvalidName), which every operation of this handle would report.
    pub fn name(&self) -> Result<&Name> {
        self.0.name()
    }

    /// Sets how long a grant lasts and whether it is renewed. Default: the lease of the client.
    pub fn lease(mut self, lease: Lease) -> Self {
        self.0.lease = lease;
        self
    }

    /// Sets the owner. An owner that already holds the lock acquires it once more, counted, without a round trip.
    ///
    /// The default is the owner of the surrounding [`Owner::scope`], if any; without one the lock cannot be re-entered.
    /// Re-entering a lock that was lost fails with [`ErrorKind::Lost`](crate::ErrorKind::Lost).
    pub fn owner(mut self, owner: &Owner) -> Self {
        self.0.owner = Some(owner.clone());
        self
    }

    /// Locks the mutex, waiting until the lock is held. **Not re-entrant without an [`owner`](Self::owner)**: a task
    /// that requests a lock that it already holds waits for itself, forever.
    ///
    /// `let _ = mutex.lock().await?` frees the lock at once: give the guard a name. A task that never yields is never
    /// stopped when its lock is lost.
    ///
    /// Order: tasks of one process get the lock in order of arrival. So do processes, except for a slice of up to 5 ms
    /// in which a process may serve its own tasks. Stores without a queue do not preserve the order of processes.
    ///
    /// Cancel safety: dropping the call leaves the queue, and the place in it is lost. An acquisition that has reached
    /// the store is undone in the background.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) after 30 s without any answer from the store
    /// ([`Builder::give_up`](crate::Builder::give_up)). A permanent refusal by the store is returned at once.
    pub fn lock(&self) -> Op<Guard> {
        self.0.forever(Mode::Exclusive, |guard| guard)
    }

    /// Tries once to lock the mutex. Returns `None` if another holder has the lock or is waiting for it.
    ///
    /// The compiler does not warn about an ignored result: `mutex.try_lock().await?;` frees the lock at once.
    ///
    /// Cancel safety: as for [`lock`](Self::lock).
    ///
    /// # Errors
    /// The store did not answer, or refuses.
    pub fn try_lock(&self) -> Op<Option<Guard>> {
        self.0.within(Mode::Exclusive, Wait::No, |guard| guard)
    }

    /// Locks the mutex, waiting for at most `wait`. Returns `None` if the lock was busy all that time.
    ///
    /// Cancel safety: as for [`lock`](Self::lock).
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the store did not answer within `wait`.
    pub fn try_lock_for(&self, wait: Duration) -> Op<Option<Guard>> {
        self.0.within(Mode::Exclusive, Wait::For(wait), |guard| guard)
    }

    /// Locks the mutex, runs `work` in [`Guard::scope`], and releases the lock.
    ///
    /// ```
    /// # async fn doc(client: cotter::Client) -> cotter::Result<()> {
    /// let total = client.mutex("orders").with(async |guard| guard.token().get() + 1).await?;
    /// # let _ = total; Ok(()) }
    /// ```
    ///
    /// Cancel safety: as far as `work` is cancel safe; the lock is released.
    ///
    /// # Errors
    /// As [`lock`](Self::lock). [`ErrorKind::Lost`](crate::ErrorKind::Lost) if the lock was lost before `work`
    /// returned, in which case `work` was dropped at the point that it had reached, or if it turns out at the release
    /// that the store does not know the lock. A release that fails, or is not answered within 2 s, is not an error
    /// here: it continues in the background, and the lease runs out.
    pub async fn with<T>(&self, work: impl AsyncFnOnce(&Guard) -> T) -> Result<T> {
        self.lock().await?.run(work).await
    }

    /// Like [`with`](Self::with), but does not wait. Returns `None` if the lock is busy: `work` was not run.
    ///
    /// Cancel safety: as for [`with`](Self::with).
    ///
    /// # Errors
    /// As [`try_lock`](Self::try_lock) and [`with`](Self::with).
    pub async fn try_with<T>(&self, work: impl AsyncFnOnce(&Guard) -> T) -> Result<Option<T>> {
        self.try_with_for(Duration::ZERO, work).await
    }

    /// Like [`with`](Self::with), but waits for at most `wait`; zero tries once. Returns `None` if the lock was busy
    /// all that time: `work` was not run.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # async fn doc(client: cotter::Client) -> cotter::Result<()> {
    /// let order = client.mutex("order:7");
    /// match order.try_with_for(Duration::from_secs(2), async |_| "paid").await? {
    ///     Some(answer) => println!("{answer}"),
    ///     None => println!("409 Conflict"),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// Cancel safety: as for [`with`](Self::with).
    ///
    /// # Errors
    /// As [`try_lock_for`](Self::try_lock_for) and [`with`](Self::with).
    pub async fn try_with_for<T>(
        &self,
        wait: Duration,
        work: impl AsyncFnOnce(&Guard) -> T,
    ) -> Result<Option<T>> {
        match self.try_lock_for(wait).await? {
            Some(guard) => guard.run(work).await.map(Some),
            None => Ok(None),
        }
    }
}

impl fmt::Debug for Mutex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("Mutex", f)
    }
}

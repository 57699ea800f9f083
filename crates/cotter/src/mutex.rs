//! The exclusive lock.

use crate::engine::{Core, Wait};
use crate::request::LockRequest;
use crate::{Guard, Lease, Mode, Op, Owner, Result};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// An exclusive lock by name: one holder among all processes that use the same store.
///
/// **Which lock do you want?** This one, when one at a time may do something and the others should wait or go away.
/// Not this one, when a database transaction already covers the work (use its row lock), when losing an update would
/// be noticed and retried anyway (use a version column), or when the work must never be done twice whatever happens:
/// no lease can promise that, only a resource that checks the [token](Guard::token) can.
///
/// | Redisson | here |
/// |---|---|
/// | `lock()` | `lock()`, with an [`owner`](Self::owner) where it re-enters |
/// | `tryLock()` | `try_lock()` |
/// | `tryLock(time)` | `try_lock_for(time)` |
/// | `tryLock(wait, lease)` | `lease(Lease::fixed(lease)).try_lock_for(wait)` |
/// | `unlock()` | `release()`, or drop the guard |
/// | watchdog | [`Lease::renewed`], the default |
#[derive(Clone)]
pub struct Mutex(LockRequest);

impl Mutex {
    pub(crate) fn new(core: Arc<Core>, name: &str) -> Self {
        Self(LockRequest::new(core, name))
    }

    /// How long a grant lasts and who keeps it alive. Default: what the client was built with.
    #[must_use]
    pub fn lease(mut self, lease: Lease) -> Self {
        self.0.lease = lease;
        self
    }

    /// Who takes it: the same owner gets a lock that it holds once more, counted, without a round trip.
    ///
    /// Without this the owner is the one of the surrounding [`Owner::scope`], if any; else nobody can re-enter.
    /// Re-entering a lock that was lost is the error [`ErrorKind::Lost`](crate::ErrorKind::Lost).
    #[must_use]
    pub fn owner(mut self, owner: &Owner) -> Self {
        self.0.owner = Some(owner.clone());
        self
    }

    /// Waits until the lock is held.
    ///
    /// `let _ = mutex.lock().await?` frees it at once: give the guard a name. A task that never yields is never told
    /// that its lock is lost.
    ///
    /// Order: tasks of one process in order of arrival; processes in order of arrival too, give or take a slice of
    /// 5 ms in which a process may serve its own tasks.
    ///
    /// Cancel safety: dropping it leaves the queue, and undoes in the background what was asked of the store.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) after 30 s without any answer from the store
    /// ([`Builder::give_up`](crate::Builder::give_up)); whatever the store refuses for good, at once.
    pub fn lock(&self) -> Op<Guard> {
        self.0.forever(Mode::Exclusive, |guard| guard)
    }

    /// One attempt: `None` when somebody holds the lock or waits for it.
    ///
    /// Cancel safety as for [`lock`](Self::lock).
    ///
    /// # Errors
    /// The store did not answer, or refuses.
    pub fn try_lock(&self) -> Op<Option<Guard>> {
        self.0.within(Mode::Exclusive, Wait::No, |guard| guard)
    }

    /// Waits for at most `wait`: `None` when the lock was busy all the time.
    ///
    /// Cancel safety as for [`lock`](Self::lock).
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) when the store did not answer until the time was over.
    pub fn try_lock_for(&self, wait: Duration) -> Op<Option<Guard>> {
        self.0.within(Mode::Exclusive, Wait::For(wait), |guard| guard)
    }

    /// Locks, runs `work` in [`Guard::scope`], and releases.
    ///
    /// ```
    /// # async fn doc(client: cotter::Client) -> cotter::Result<()> {
    /// let total = client.mutex("orders").with(async |guard| guard.token().get() + 1).await?;
    /// # let _ = total; Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`lock`](Self::lock); [`ErrorKind::Lost`](crate::ErrorKind::Lost) when the lock was lost before
    /// `work` returned, which then was dropped where it stood, or when the release finds that the store does not know
    /// the lock any more. A release that fails, or is not answered within 2 s, is not an error here: it goes on in the
    /// background, and the lease runs out.
    pub async fn with<T>(&self, work: impl AsyncFnOnce(&Guard) -> T) -> Result<T> {
        let guard = self.lock().await?;
        let done = guard.scope(work(&guard)).await?;
        match guard.end().await {
            Some(lost) => Err(lost.into()),
            None => Ok(done),
        }
    }
}

impl fmt::Debug for Mutex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("Mutex", f)
    }
}

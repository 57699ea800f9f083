//! Many readers or one writer.
//!
//! | file | concept |
//! |---|---|
//! | `guards` | the lock that is held |

mod guards;

pub use guards::{ReadGuard, WriteGuard};

use crate::api::request::LockRequest;
use crate::engine::{Core, Wait};
use crate::{Guard, Lease, Mode, Name, Op, Owner, Result};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A named readers-writer lock: held by many readers, or by one writer.
///
/// **Is this the lock you want?** Yes, if reads are frequent and long and writes are rare. Otherwise use a
/// [`Mutex`](crate::Mutex): it is cheaper, and its guard can pass from task to task without asking the store.
///
/// The same name is the same lock: `mutex(n)` is the writer side of `rwlock(n)`. Locks are granted in order of arrival:
/// a waiting writer holds up readers that arrive later, so neither side starves.
///
/// Not re-entrant without an [`owner`](Self::owner). The same [`Owner`] may read while it writes, and read while it
/// reads. Writing while it reads fails with [`ErrorKind::Upgrade`](crate::ErrorKind::Upgrade): two readers that both
/// want to write would wait for each other forever.
///
/// Not every store has shared locks; see [`Capabilities::shared`](crate::backend::Capabilities::shared).
///
/// ```
/// # use cotter::Client;
/// # fn main() -> cotter::Result<()> {
/// let catalogue = Client::connect("memory:").wait()?.rwlock("catalogue");
/// let writer = catalogue.write().wait()?;
/// let reader = writer.downgrade().wait()?;
/// let other = catalogue.try_read().wait()?.expect("readers share");
/// assert!(catalogue.try_write().wait()?.is_none());
/// other.finish().wait()?;
/// reader.finish().wait()?;
/// # Ok(()) }
/// ```
#[must_use = "a handle holds nothing; call read() or write() or one of their siblings"]
#[derive(Clone)]
pub struct RwLock(LockRequest);

impl RwLock {
    pub(crate) fn new(core: Arc<Core>, name: &str) -> Self {
        Self(LockRequest::new(core, name))
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

    /// Sets the owner; see [`Mutex::owner`](crate::Mutex::owner).
    pub fn owner(mut self, owner: &Owner) -> Self {
        self.0.owner = Some(owner.clone());
        self
    }

    /// Locks for reading, waiting until the lock is held.
    ///
    /// Cancel safety: dropping the call leaves the queue, and an acquisition that has reached the store is undone in the
    /// background.
    ///
    /// # Errors
    /// As [`Mutex::lock`](crate::Mutex::lock); [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where the store
    /// has no shared locks.
    pub fn read(&self) -> Op<ReadGuard> {
        self.0.forever(Mode::Shared, ReadGuard::new)
    }

    /// Locks for writing, waiting until the lock is held.
    ///
    /// Cancel safety: as for [`read`](Self::read).
    ///
    /// # Errors
    /// As [`Mutex::lock`](crate::Mutex::lock); [`ErrorKind::Upgrade`](crate::ErrorKind::Upgrade) if the same owner holds
    /// the lock for reading.
    pub fn write(&self) -> Op<WriteGuard> {
        self.0.forever(Mode::Exclusive, WriteGuard::new)
    }

    /// Tries once to lock for reading. Returns `None` if a writer has the lock or is waiting for it.
    ///
    /// Cancel safety: as for [`read`](Self::read).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn try_read(&self) -> Op<Option<ReadGuard>> {
        self.0.within(Mode::Shared, Wait::No, ReadGuard::new)
    }

    /// Tries once to lock for writing. Returns `None` if another holder has the lock or is waiting for it.
    ///
    /// Cancel safety: as for [`read`](Self::read).
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn try_write(&self) -> Op<Option<WriteGuard>> {
        self.0.within(Mode::Exclusive, Wait::No, WriteGuard::new)
    }

    /// Locks for reading, waiting for at most `wait`. Returns `None` if a writer had or wanted the lock all that time.
    ///
    /// Cancel safety: as for [`read`](Self::read).
    ///
    /// # Errors
    /// As [`read`](Self::read); [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the store did not answer
    /// within `wait`.
    pub fn try_read_for(&self, wait: Duration) -> Op<Option<ReadGuard>> {
        self.0.within(Mode::Shared, Wait::For(wait), ReadGuard::new)
    }

    /// Locks for writing, waiting for at most `wait`. Returns `None` if the lock was busy all that time.
    ///
    /// Cancel safety: as for [`read`](Self::read).
    ///
    /// # Errors
    /// As [`write`](Self::write); [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the store did not answer
    /// within `wait`.
    pub fn try_write_for(&self, wait: Duration) -> Op<Option<WriteGuard>> {
        self.0.within(Mode::Exclusive, Wait::For(wait), WriteGuard::new)
    }

    /// Locks for reading, runs `work` in [`Guard::scope`], and releases the lock.
    ///
    /// Cancel safety: as far as `work` is cancel safe; the lock is released.
    ///
    /// # Errors
    /// As [`read`](Self::read), and on a loss as [`Mutex::with`](crate::Mutex::with).
    pub async fn with_read<T>(&self, work: impl AsyncFnOnce(&Guard) -> T) -> Result<T> {
        Guard::from(self.read().await?).run(work).await
    }

    /// Locks for writing, runs `work` in [`Guard::scope`], and releases the lock.
    ///
    /// Cancel safety: as far as `work` is cancel safe; the lock is released.
    ///
    /// # Errors
    /// As [`write`](Self::write), and on a loss as [`Mutex::with`](crate::Mutex::with).
    pub async fn with_write<T>(&self, work: impl AsyncFnOnce(&Guard) -> T) -> Result<T> {
        Guard::from(self.write().await?).run(work).await
    }
}

impl fmt::Debug for RwLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("RwLock", f)
    }
}

//! Many readers or one writer.

use crate::engine::{Core, Wait, downgrade};
use crate::request::LockRequest;
use crate::{Guard, Lease, Mode, Op, Owner};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// A lock that many may hold for reading, or one for writing.
///
/// **Which lock do you want?** This one, when readers are frequent and long, and writers rare. Otherwise the
/// [`Mutex`](crate::Mutex): it is cheaper, and its guard can pass from task to task without asking the store.
///
/// The same name is the same lock: `mutex(n)` is the writer's side of `rwlock(n)`. Order is that of arrival: a writer
/// that waits stops the readers that come later, so neither side starves.
///
/// The same [`Owner`] may read while it writes, and read while it reads. Writing while it reads is the error
/// [`ErrorKind::Upgrade`](crate::ErrorKind::Upgrade): two readers that both want it would wait for each other for ever.
#[derive(Clone)]
pub struct RwLock(LockRequest);

/// Held for reading. Everything that a [`Guard`] can do.
#[must_use = "a guard that is dropped at once frees the lock at once"]
#[derive(Debug)]
pub struct ReadGuard(Guard);

/// Held for writing. Everything that a [`Guard`] can do, and [`downgrade`](Self::downgrade).
#[must_use = "a guard that is dropped at once frees the lock at once"]
#[derive(Debug)]
pub struct WriteGuard(Guard);

impl RwLock {
    pub(crate) fn new(core: Arc<Core>, name: &str) -> Self {
        Self(LockRequest::new(core, name))
    }

    /// How long a grant lasts and who keeps it alive. Default: what the client was built with.
    #[must_use]
    pub fn lease(mut self, lease: Lease) -> Self {
        self.0.lease = lease;
        self
    }

    /// Who takes it; see [`Mutex::owner`](crate::Mutex::owner).
    #[must_use]
    pub fn owner(mut self, owner: &Owner) -> Self {
        self.0.owner = Some(owner.clone());
        self
    }

    /// Waits until the lock is held for reading.
    ///
    /// Cancel safety: dropping it leaves the queue, and undoes in the background what was asked of the store.
    ///
    /// # Errors
    /// As [`Mutex::lock`](crate::Mutex::lock); [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where the store
    /// has no shared locks.
    pub fn read(&self) -> Op<ReadGuard> {
        self.0.forever(Mode::Shared, ReadGuard)
    }

    /// Waits until the lock is held for writing.
    ///
    /// Cancel safety as for [`read`](Self::read).
    ///
    /// # Errors
    /// As [`read`](Self::read); [`ErrorKind::Upgrade`](crate::ErrorKind::Upgrade) when the same owner holds it for reading.
    pub fn write(&self) -> Op<WriteGuard> {
        self.0.forever(Mode::Exclusive, WriteGuard)
    }

    /// One attempt to read: `None` when somebody writes, or waits to.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn try_read(&self) -> Op<Option<ReadGuard>> {
        self.0.within(Mode::Shared, Wait::No, ReadGuard)
    }

    /// One attempt to write: `None` when somebody holds the lock or waits for it.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn try_write(&self) -> Op<Option<WriteGuard>> {
        self.0.within(Mode::Exclusive, Wait::No, WriteGuard)
    }

    /// Waits for at most `wait` to read.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn try_read_for(&self, wait: Duration) -> Op<Option<ReadGuard>> {
        self.0.within(Mode::Shared, Wait::For(wait), ReadGuard)
    }

    /// Waits for at most `wait` to write.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn try_write_for(&self, wait: Duration) -> Op<Option<WriteGuard>> {
        self.0.within(Mode::Exclusive, Wait::For(wait), WriteGuard)
    }
}

impl WriteGuard {
    /// Goes on as a reader, without a moment in which another writer could get in.
    ///
    /// The lock is lost when the operation fails or is dropped half-way: it is given back in the background.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where the store cannot do it in one step,
    /// [`ErrorKind::Lost`](crate::ErrorKind::Lost),
    /// [`ErrorKind::Misuse`](crate::ErrorKind::Misuse) while the same owner holds it more than once.
    pub fn downgrade(self) -> Op<ReadGuard> {
        let engine = self.0.engine();
        Op::new(&engine, async move { downgrade(self.0).await.map(ReadGuard) })
    }
}

impl Deref for ReadGuard {
    type Target = Guard;
    fn deref(&self) -> &Guard {
        &self.0
    }
}

impl Deref for WriteGuard {
    type Target = Guard;
    fn deref(&self) -> &Guard {
        &self.0
    }
}

impl From<ReadGuard> for Guard {
    fn from(guard: ReadGuard) -> Self {
        guard.0
    }
}

impl From<WriteGuard> for Guard {
    fn from(guard: WriteGuard) -> Self {
        guard.0
    }
}

impl fmt::Debug for RwLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe("RwLock", f)
    }
}

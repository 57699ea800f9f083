//! A limited number of permits.
//!
//! | file | concept |
//! |---|---|
//! | `permit` | the permits that are held |

mod permit;

pub use permit::Permit;

use crate::api::request::LockRequest;
use crate::engine::{Core, Wait, resize};
use crate::{Guard, Lease, Mode, Name, Op, Result};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A named semaphore: limits how many holders may do something at the same time, across all processes that use the same
/// store.
///
/// **Is this what you want?** Yes, if a number of holders may work side by side: calls to an API that allows three at
/// once, jobs on a machine with two GPUs, imports into a database that suffers from more than ten. No, if the limit is
/// a rate ("100 per second": use a rate limiter), if all holders are tasks of one process (use
/// `tokio::sync::Semaphore`), or if one holder too many does harm: a permit has a lease like every lock, and its token
/// cannot [fence](Permit) it.
///
/// Permits are granted in order of arrival. A waiter that wants many is not overtaken by later ones that want few, so
/// it gets its turn; until then, free permits stay unused. Several permits are granted all at once or not at all, so
/// two waiters can never each hold some and wait for the rest.
///
/// The permits of a process that dies come back when its lease ends, or at once where grants live with the process. A
/// semaphore is never re-entered: each acquisition takes its own permits, whatever the [`Owner`](crate::Owner). A task
/// that holds permits and asks for more may therefore wait for itself.
///
/// A name is either a lock or a semaphore: using it as the other while it is in use fails with [`LimitMismatch`].
///
/// Not every store has permits; see [`Capabilities::permits`](crate::backend::Capabilities::permits).
///
/// ```
/// # use cotter::Client;
/// # fn main() -> cotter::Result<()> {
/// let client = Client::connect("memory:").wait()?;
/// let gpus = client.semaphore("gpus", 4);
/// let training = gpus.clone().take(3).acquire().wait()?;
/// assert!(gpus.clone().take(2).try_acquire().wait()?.is_none(), "one is left");
/// let preview = gpus.try_acquire().wait()?.expect("one is left");
/// preview.finish().wait()?;
/// training.finish().wait()?; // gives back all three
/// # Ok(()) }
/// ```
///
/// | tokio, Redisson | cotter |
/// |---|---|
/// | `acquire_owned().await` | `acquire().await` |
/// | `acquire_many(k)`, `acquire(k)` | `take(k).acquire()` |
/// | `try_acquire()`, `tryAcquire()` | `try_acquire()` |
/// | `tryAcquire(time)` | `try_acquire_for(time)` |
/// | `release()` | `finish()`, `release()`, or drop the permit |
/// | `RPermitExpirableSemaphore` | every permit has a [`Lease`] |
/// | `trySetPermits`, `add_permits`, `addPermits` | the number in [`Client::semaphore`](crate::Client::semaphore), [`set_limit`](Self::set_limit) |
///
/// # The limit
/// All users of a name must specify the same limit. The store keeps it while the name is in use, that is, while any
/// client holds or waits for permits; a call that specifies another limit during that time fails at once with
/// [`LimitMismatch`]. When the name is not in use, its next user sets the limit. Two deployments that disagree
/// therefore get an error, and their limits never add up.
///
/// # From 5 to 10 in a rolling deployment
/// [`set_limit(10)`](Self::set_limit) changes the limit of a name that is in use, in one step:
///
/// - Holders keep their permits. Nothing that is running is interrupted, not even by a smaller limit: in that case, no
///   new permit is granted until enough have been given back.
/// - Waiters in the store's queue keep their places and get their permits under the new limit. So do the tasks of the
///   process that makes the change, which wait with the old limit of its handle. Of the tasks of another process, only
///   one at a time is in the store's queue. A waiter that wants more than a smaller limit allows fails with
///   [`LimitMismatch`].
/// - Every other call that specifies 5 fails with [`LimitMismatch`] for as long as the name is in use. After that, the
///   first user to arrive sets the limit again, be it 5 or 10. At no time are more than 10 permits held.
///
/// With processes of the old version running alongside those of the new one, this means:
///
/// 1. Beforehand, make the program treat [`LimitMismatch`] like a busy semaphore: try again later, or refuse the
///    request. Only old processes run into it, from step 2 on.
/// 2. New processes specify 10, and call `set_limit(10)` when they start, and again if they get the error themselves:
///    in that case, the name was out of use in between, and an old process came first. Calling it twice does no harm.
/// 3. Old processes give back what they hold, and exit.
///
/// If old processes must not be refused, have the new version specify 5 as well, and call `set_limit(10)` on its
/// handles once no old process is left.
///
/// [`LimitMismatch`]: crate::ErrorKind::LimitMismatch
#[must_use = "a handle holds nothing; call acquire() or one of its siblings"]
#[derive(Clone)]
pub struct Semaphore {
    request: LockRequest,
    take: u32,
    /// Clones go on with the limit that any of them has set.
    of: Arc<AtomicU32>,
}

impl Semaphore {
    pub(crate) fn new(core: Arc<Core>, name: &str, of: u32) -> Self {
        Self { request: LockRequest::new(core, name), take: 1, of: Arc::new(AtomicU32::new(of)) }
    }

    /// Returns the name of the semaphore.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`](crate::ErrorKind::InvalidName), which every operation of this handle would report.
    pub fn name(&self) -> Result<&Name> {
        self.request.name()
    }

    /// Sets how long a grant lasts and whether it is renewed. Default: the lease of the client.
    pub fn lease(mut self, lease: Lease) -> Self {
        self.request.lease = lease;
        self
    }

    /// Sets the number of permits that each acquisition of this handle takes, all at once. Default: 1. Zero, or more
    /// than there are, is reported by every acquisition, before any I/O.
    pub fn take(mut self, permits: u32) -> Self {
        self.take = permits;
        self
    }

    /// Acquires the permits, waiting until they are held. **Never re-entrant**: each call takes its own permits.
    ///
    /// `let _ = semaphore.acquire().await?` gives the permits back at once: give the result a name. A task that never
    /// yields is never stopped when its permits are lost.
    ///
    /// Order: tasks of one process get permits in order of arrival. So do processes, where the store has a queue.
    ///
    /// Cancel safety: dropping the call leaves the queue, and the place in it is lost. An acquisition that has reached
    /// the store is undone in the background, with all of its permits.
    ///
    /// # Errors
    /// As [`Mutex::lock`](crate::Mutex::lock); [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a number of
    /// permits that can never be granted, [`ErrorKind::LimitMismatch`](crate::ErrorKind::LimitMismatch) while the name is in
    /// use with another limit, or as a lock, [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where the store has no
    /// permits.
    pub fn acquire(&self) -> Op<Permit> {
        self.request.forever(self.mode(), Permit::new)
    }

    /// Tries once to acquire the permits. Returns `None` if too few are free, or if others are waiting for them.
    ///
    /// The compiler does not warn about an ignored result: `semaphore.try_acquire().await?;` gives the permits back at
    /// once.
    ///
    /// Cancel safety: as for [`acquire`](Self::acquire).
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    pub fn try_acquire(&self) -> Op<Option<Permit>> {
        self.request.within(self.mode(), Wait::No, Permit::new)
    }

    /// Acquires the permits, waiting for at most `wait`. Returns `None` if too few were free all that time.
    ///
    /// Cancel safety: as for [`acquire`](Self::acquire).
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire); [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the store did not answer
    /// within `wait`.
    pub fn try_acquire_for(&self, wait: Duration) -> Op<Option<Permit>> {
        self.request.within(self.mode(), Wait::For(wait), Permit::new)
    }

    /// Acquires the permits, runs `work` in [`Guard::scope`], and gives the permits back.
    ///
    /// ```
    /// # async fn call() {}
    /// # async fn doc(client: cotter::Client) -> cotter::Result<()> {
    /// client.semaphore("payment-api", 3).with(async |_| call().await).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// Cancel safety: as far as `work` is cancel safe; the permits are given back.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire), and on a loss as [`Mutex::with`](crate::Mutex::with).
    pub async fn with<T>(&self, work: impl AsyncFnOnce(&Guard) -> T) -> Result<T> {
        Guard::from(self.acquire().await?).run(work).await
    }

    /// Like [`with`](Self::with), but does not wait. Returns `None` if too few permits are free: `work` was not run.
    ///
    /// Cancel safety: as for [`with`](Self::with).
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire) and [`with`](Self::with).
    pub async fn try_with<T>(&self, work: impl AsyncFnOnce(&Guard) -> T) -> Result<Option<T>> {
        self.try_with_for(Duration::ZERO, work).await
    }

    /// Like [`with`](Self::with), but waits for at most `wait`; zero tries once. Returns `None` if too few permits were
    /// free all that time: `work` was not run.
    ///
    /// Cancel safety: as for [`with`](Self::with).
    ///
    /// # Errors
    /// As [`try_acquire_for`](Self::try_acquire_for) and [`with`](Self::with).
    pub async fn try_with_for<T>(
        &self,
        wait: Duration,
        work: impl AsyncFnOnce(&Guard) -> T,
    ) -> Result<Option<T>> {
        match self.try_acquire_for(wait).await? {
            Some(permit) => Guard::from(permit).run(work).await.map(Some),
            None => Ok(None),
        }
    }

    /// Changes the limit of the name, if it is in use, and of this handle and its clones. The effect on holders, on
    /// waiters and on calls that specify the old limit is [described above](Self#from-5-to-10-in-a-rolling-deployment).
    ///
    /// Does nothing to a name that is not in use: its next user sets the limit.
    ///
    /// ```
    /// # use cotter::{Client, ErrorKind};
    /// # fn main() -> cotter::Result<()> {
    /// # let client = Client::connect("memory:").wait()?;
    /// let (old, new) = (client.semaphore("api", 5), client.semaphore("api", 10));
    /// let running = old.acquire().wait()?;
    /// assert_eq!(new.try_acquire().wait().unwrap_err().kind(), ErrorKind::LimitMismatch);
    /// new.set_limit(10).wait()?;
    /// let more = new.clone().take(9).acquire().wait()?;
    /// assert_eq!(old.try_acquire().wait().unwrap_err().kind(), ErrorKind::LimitMismatch);
    /// running.finish().wait()?; // what was held is not touched
    /// # more.finish().wait() }
    /// ```
    ///
    /// Cancel safety: if the call is dropped, the limit may or may not have been changed.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for zero,
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where the store has no permits,
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if it did not answer; the limit may have been changed then.
    /// `file:` also returns it, after 10 s and with the limit unchanged, if a process was stopped while taking permits.
    pub fn set_limit(&self, of: u32) -> Op<()> {
        let (core, name, ours) = (self.request.core().clone(), self.name().cloned(), self.of.clone());
        let line = self.request.line.clone();
        Op::new(&self.request.core().engine, async move {
            core.usable()?;
            let (asked, name) = (core.clone(), name?);
            let mode = Mode::Permits { take: 1, of };
            core.backend.info().supports(mode).and(mode.check()).map_err(|e| e.with_name(&name))?;
            let (set, limits) = (name.clone(), (ours.load(Ordering::Acquire), of));
            let change =
                async move { resize(&asked, &line, &set, limits, asked.backend.set_limit(&set, of)).await };
            core.on_engine(change).await.map_err(|e| e.with_name(&name))?;
            ours.store(of, Ordering::Release);
            Ok(())
        })
    }

    fn mode(&self) -> Mode {
        Mode::Permits { take: self.take, of: self.of.load(Ordering::Acquire) }
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.request.describe("Semaphore", f)
    }
}

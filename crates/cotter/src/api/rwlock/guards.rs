//! The guards of readers and writers.

use crate::api::guard::guard_newtype;
use crate::engine::downgrade;
use crate::{Guard, Op};

/// A lock held for reading. Dereferences to [`Guard`]: it can be checked, extended, and so on in the same way.
///
/// ```
/// # use cotter::{Client, Mode};
/// # fn main() -> cotter::Result<()> {
/// # let client = Client::connect("memory:").wait()?;
/// let catalogue = client.rwlock("catalogue");
/// let reader = catalogue.read().wait()?;
/// let other = catalogue.try_read().wait()?.expect("readers share the lock");
/// reader.check()?; // stops here once the lock is lost
/// assert_eq!(reader.mode(), Mode::Shared);
/// other.finish().wait()?;
/// reader.finish().wait()?;
/// # Ok(()) }
/// ```
#[must_use = "a guard that is dropped at once frees the lock at once"]
#[derive(Debug)]
pub struct ReadGuard(Guard);

/// A lock held for writing. Dereferences to [`Guard`], and can be [downgraded](Self::downgrade).
///
/// ```
/// # use cotter::Client;
/// # fn main() -> cotter::Result<()> {
/// # let client = Client::connect("memory:").wait()?;
/// let catalogue = client.rwlock("catalogue");
/// let writer = catalogue.write().wait()?;
/// println!("rebuilding under token {}", writer.token());
/// let reader = writer.downgrade().wait()?; // no other writer comes in between
/// assert!(catalogue.try_read().wait()?.is_some());
/// reader.finish().wait()?;
/// # Ok(()) }
/// ```
#[must_use = "a guard that is dropped at once frees the lock at once"]
#[derive(Debug)]
pub struct WriteGuard(Guard);

impl WriteGuard {
    /// Downgrades to a reader, without a moment in which another writer could get the lock. The reader continues the hold:
    /// [`max_hold`](crate::Lease::max_hold) counts from the grant of the writer.
    ///
    /// Cancel safety: the lock is lost if the call is dropped or fails half-way; it is released in the background.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) where the store cannot do it in one step,
    /// [`ErrorKind::Lost`](crate::ErrorKind::Lost) if the lock is no longer held,
    /// [`ErrorKind::Misuse`](crate::ErrorKind::Misuse) while the same owner holds it more than once.
    pub fn downgrade(self) -> Op<ReadGuard> {
        let engine = self.0.engine();
        Op::new(&engine, async move { downgrade(self.0).await.map(ReadGuard) })
    }
}

guard_newtype!(ReadGuard, "the lock");
guard_newtype!(WriteGuard, "the lock");

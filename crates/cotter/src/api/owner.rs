//! Re-entry.

use std::future::Future;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

tokio::task_local! {
    static CURRENT: Owner;
}

/// The identity under which a lock that is already held can be acquired again.
///
/// Re-entry is explicit: the same owner on the same client acquires the lock once more, counted, without a round trip;
/// the last release frees it. An owner is never stored and never leaves the process.
///
/// Only a lock that is held already is acquired again. Of two calls that wait for the lock at the same time, the second
/// waits for the guard of the first, even under the same owner: joining both in one task (`join!`) never ends.
///
/// A [`scope`](Self::scope) does not extend into `tokio::spawn`: pass [`Owner::current`] on and open a scope in the new
/// task.
///
/// ```
/// # use cotter::{Client, Owner, Released};
/// # fn main() -> cotter::Result<()> {
/// let client = Client::connect("memory:").wait()?;
/// let me = Owner::new();
/// let outer = client.mutex("orders").owner(&me).lock().wait()?;
/// let inner = client.mutex("orders").owner(&me).lock().wait()?;
/// assert_eq!(outer.token(), inner.token());
/// assert_eq!(inner.release().wait()?, Released::StillHeld(1));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner(NonZeroU64);

impl Owner {
    /// Creates a new owner, different from all others in this process.
    #[allow(clippy::new_without_default, reason = "two defaults that differ would surprise")]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // It starts at one, and at a thousand owners per microsecond, it would wrap after 584 years.
        Self(NonZeroU64::new(NEXT.fetch_add(1, Ordering::Relaxed)).unwrap_or(NonZeroU64::MIN))
    }

    /// Returns the owner of the surrounding scope, if any.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    /// Runs `work` so that every lock it takes belongs to this owner.
    pub fn scope<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        CURRENT.scope(self.clone(), work)
    }
}

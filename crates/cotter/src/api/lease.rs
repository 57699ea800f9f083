//! Leases.

use crate::backend::Capabilities;
use crate::engine::Drift;
use crate::{Error, ErrorKind, Result};
use std::time::Duration;

/// How long a lock stays held without a sign of life from its holder, and whether it is renewed.
///
/// | | renewed | fixed |
/// |---|---|---|
/// | ends by itself | when the process dies or is cut off for `ttl` | after `ttl` |
/// | a hung program | **holds the lock forever**; set [`max_hold`](Self::max_hold) | loses it |
///
/// On stores where the grant lives with the process (`file:`), the ttl of a renewed lease is ignored. The end of a
/// fixed lease, and `max_hold`, are enforced by the client, which then releases the lock.
///
/// The part of the ttl by which clocks may drift apart is never relied on ([`Builder::drift`](crate::Builder::drift)):
/// a guard is lost that much earlier than the store's lease ends.
///
/// ```
/// # use cotter::{Client, Lease};
/// # use std::time::Duration;
/// # fn main() -> cotter::Result<()> {
/// # let client = Client::connect("memory:").wait()?;
/// // At most two seconds, whatever happens:
/// let short = Lease::fixed(Duration::from_secs(2));
/// // For as long as the process lives, but never longer than an hour:
/// let job = Lease::renewed(Duration::from_secs(30)).max_hold(Duration::from_secs(3600));
/// let guard = client.mutex("nightly").lease(job).lock().wait()?;
/// assert!(guard.lease().is_renewed() && !short.is_renewed());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    pub(crate) ttl: Duration,
    pub(crate) renewed: bool,
    pub(crate) max_hold: Option<Duration>,
}

impl Lease {
    /// Creates a lease that is renewed every third of `ttl` for as long as the guard lives.
    ///
    /// A guard that is forgotten (`mem::forget`), or held by a program that hangs, is renewed forever, unless
    /// [`max_hold`](Self::max_hold) is set.
    pub const fn renewed(ttl: Duration) -> Self {
        Self { ttl, renewed: true, max_hold: None }
    }

    /// Creates a lease that ends after `ttl` unless the guard [extends](crate::Guard::extend) it.
    pub const fn fixed(ttl: Duration) -> Self {
        Self { ttl, renewed: false, max_hold: None }
    }

    /// Limits the hold: the guard is lost this long after the grant, even if it could be renewed.
    #[must_use]
    pub const fn max_hold(mut self, longest: Duration) -> Self {
        self.max_hold = Some(longest);
        self
    }

    /// Returns the time after which the lock is free without a sign of life from its holder.
    pub const fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Returns true if the lease is renewed for as long as the guard lives.
    pub const fn is_renewed(&self) -> bool {
        self.renewed
    }

    /// Returns the longest hold, if it is limited by [`max_hold`](Self::max_hold).
    pub const fn longest_hold(&self) -> Option<Duration> {
        self.max_hold
    }

    /// Whether a store that can do this can give such a lease, and at least half of it can be relied on.
    pub(crate) fn check(&self, capabilities: &Capabilities, drift: Drift) -> Result<()> {
        capabilities.check_ttl(self.ttl)?;
        let uncertain = drift.of(self.ttl);
        if capabilities.leases && uncertain > self.ttl / 2 {
            let what = format!(
                "a ttl of {:?} is too short: {uncertain:?} of it cannot be relied on, because clocks may drift apart by \
                that much, and at least half must remain",
                self.ttl
            );
            return Err(Error::new(ErrorKind::InvalidInput, what));
        }
        match self.max_hold {
            Some(d) if d.is_zero() => Err(Error::new(ErrorKind::InvalidInput, "max_hold is zero")),
            _ => Ok(()),
        }
    }
}

impl Default for Lease {
    /// Renewed, with a ttl of 30 s.
    fn default() -> Self {
        Self::renewed(Duration::from_secs(30))
    }
}

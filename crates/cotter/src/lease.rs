//! How long a grant lasts and who keeps it alive.

use crate::backend::Capabilities;
use crate::engine::Drift;
use crate::{Error, ErrorKind, Result};
use std::time::Duration;

/// How long a lock is held without a word from its holder, and whether cotter renews it.
///
/// | | renewed | fixed |
/// |---|---|---|
/// | ends by itself | when the process dies or is cut off for `ttl` | after `ttl` |
/// | a hung program | **holds the lock for ever**; set [`max_hold`](Self::max_hold) | loses it |
///
/// On stores where the grant lives with the process (`file:`) the ttl is ignored; `fixed` and `max_hold` are
/// then enforced by the client, which gives the lock back when they end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    pub(crate) ttl: Duration,
    pub(crate) renewed: bool,
    pub(crate) max_hold: Option<Duration>,
}

impl Lease {
    /// Longer leases overflow what stores can count.
    pub(crate) const MAX: Duration = Duration::from_secs(366 * 24 * 3600);

    /// Renewed every third of `ttl` for as long as the guard lives.
    ///
    /// A guard that is forgotten (`mem::forget`), or held by a program that hangs, is renewed for ever:
    /// [`max_hold`](Self::max_hold) ends that.
    pub const fn renewed(ttl: Duration) -> Self {
        Self { ttl, renewed: true, max_hold: None }
    }

    /// Ends after `ttl` unless the guard [extends](crate::Guard::extend) it.
    pub const fn fixed(ttl: Duration) -> Self {
        Self { ttl, renewed: false, max_hold: None }
    }

    /// The guard is lost this long after the grant, however well it is renewed.
    #[must_use]
    pub const fn max_hold(mut self, longest: Duration) -> Self {
        self.max_hold = Some(longest);
        self
    }

    /// Whether a store that can do this can give such a lease, and at least half of it can be relied on.
    pub(crate) fn check(&self, capabilities: &Capabilities, drift: Drift) -> Result<()> {
        check_ttl(self.ttl, capabilities.min_ttl)?;
        let uncertain = drift.of(self.ttl);
        if capabilities.leases && uncertain > self.ttl / 2 {
            let what = format!(
                "a ttl of {:?} is too short: {uncertain:?} of it cannot be relied on, because clocks may drift apart so far, \
                and at least half must be left",
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

pub(crate) fn check_ttl(ttl: Duration, min_ttl: Duration) -> Result<()> {
    if ttl < min_ttl || ttl.is_zero() {
        let what = format!("a ttl of {ttl:?} is too short for this store, it takes {min_ttl:?} and more");
        return Err(Error::new(ErrorKind::InvalidInput, what));
    }
    if ttl > Lease::MAX {
        let what = format!("a ttl of {ttl:?} is too long, a year is the most");
        return Err(Error::new(ErrorKind::InvalidInput, what));
    }
    Ok(())
}

impl Default for Lease {
    /// Renewed, with a ttl of 30 s.
    fn default() -> Self {
        Self::renewed(Duration::from_secs(30))
    }
}

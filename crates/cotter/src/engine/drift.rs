//! Clocks that run at different rates.

use std::time::Duration;

/// The maximum difference between the clock rates of client and store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drift {
    pub(crate) ppm: u32,
    pub(crate) fixed: Duration,
}

impl Drift {
    /// Returns the part of `ttl` that must not be relied on.
    pub(crate) fn of(self, ttl: Duration) -> Duration {
        ttl.mul_f64(f64::from(self.ppm) / 1e6).saturating_add(self.fixed)
    }
}

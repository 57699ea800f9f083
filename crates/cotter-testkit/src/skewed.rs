//! A store whose clock is not this host's: what a process sees whose time of day is wrong. And a store without a clock.

use crate::altered::{Alteration, AlteredStore};
use cotter::backend::Connect;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

/// How far the store's clock is ahead of what it would show by itself. Cloning gives another handle.
#[derive(Debug, Clone, Default)]
pub struct Skew(Arc<AtomicI64>);

impl Skew {
    /// So many milliseconds ahead, from now on.
    pub fn set_millis(&self, ahead: i64) {
        self.0.store(ahead, Ordering::Relaxed);
    }
}

/// Connects to another store, and answers with another time.
pub type Skewed = AlteredStore<Skew>;

impl Skewed {
    /// This store with its clock moved.
    pub fn new(inner: impl Connect, skew: &Skew) -> Self {
        Self::of(inner, skew.clone())
    }
}

impl Alteration for Skew {
    fn time(&self, time: SystemTime) -> Option<SystemTime> {
        let ahead = self.0.load(Ordering::Relaxed);
        let gap = Duration::from_millis(ahead.unsigned_abs());
        Some(if ahead < 0 { time - gap } else { time + gap })
    }
}

/// Connects to another store, which does not tell its time: its users go by their own clocks, as those of etcd do.
pub type Timeless = AlteredStore<NoTime>;

impl Timeless {
    /// This store without its clock.
    pub fn new(inner: impl Connect) -> Self {
        Self::of(inner, NoTime)
    }
}

/// The clock is taken away.
#[derive(Debug, Clone)]
pub struct NoTime;

impl Alteration for NoTime {
    fn time(&self, _: SystemTime) -> Option<SystemTime> {
        None
    }
}

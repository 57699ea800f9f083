//! Clocks, and points in time on them.
//!
//! Deadlines are measured on a clock that continues while the machine is suspended, because the lease in the store
//! does: on Linux, that is `CLOCK_BOOTTIME`. All time goes through [`Clock`], so that a test can stop it, advance it,
//! or suspend.

// | file | concept |
// |---|---|
// | `system` | the boot clock of the system |
// | `manual` | a clock for tests |
// | `runtime` | the clock of a tokio runtime, which a test may pause |
// | `idle` | waiting until an engine has nothing left to do |

mod idle;
mod manual;
mod runtime;
mod system;

pub use idle::Idle;
pub(crate) use idle::IdleState;
pub use manual::ManualClock;
pub(crate) use runtime::RuntimeClock;
pub(crate) use system::{SystemClock, Timers};

use std::fmt::Debug;
use std::future::Future;
use std::ops::{Add, Sub};
use std::pin::Pin;
use std::time::{Duration, SystemTime};

/// A point on a [`Clock`], in nanoseconds since its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The origin of the clock.
    pub const ZERO: Self = Self(0);
    /// A moment that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// Creates the moment `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns how long after `earlier` this moment is; zero if it is not after it.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Saturates at [`Moment::NEVER`].
impl Add<Duration> for Moment {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Saturates at [`Moment::ZERO`]; [`Moment::NEVER`] stays what it is.
impl Sub<Duration> for Moment {
    type Output = Self;
    fn sub(self, d: Duration) -> Self {
        if self == Self::NEVER {
            return self;
        }
        Self(self.0.saturating_sub(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// The future of [`Clock::sleep_until`].
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// A source of time. [`now`](Self::now) must never go back.
pub trait Clock: Debug + Send + Sync + 'static {
    /// Returns the current moment. Called on every operation, so it must be cheap.
    fn now(&self) -> Moment;

    /// Returns the time of day, for tokens and for people. It may be set forward and back.
    fn wall(&self) -> SystemTime;

    /// Completes when [`now`](Self::now) has reached `until`; it may complete from any thread, without a runtime.
    fn sleep_until(&self, until: Moment) -> Sleep;

    /// Called once for each engine that runs on this clock, so that a test clock can wait for it.
    fn attach(&self, engine: Idle) {
        let _ = engine;
    }
}

/// Microseconds since 1970: the floor under tokens whose counter is ours.
pub(crate) fn unix_micros(wall: SystemTime) -> u64 {
    wall.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_micros() as u64)
}

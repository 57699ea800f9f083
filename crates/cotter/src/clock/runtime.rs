//! The clock of a tokio runtime, which a test may pause.

use super::{Clock, Moment, Sleep};
use std::time::{Duration, SystemTime};
use tokio::runtime::Handle;
use tokio::time::Instant;

/// The clock of one tokio runtime, for clients that live in the runtime of their caller.
#[derive(Debug)]
pub(crate) struct RuntimeClock {
    runtime: Handle,
    origin: Instant,
    wall: SystemTime,
}

/// The origin is not zero, so that a moment shortly before the start can be represented.
const OFFSET: Duration = Duration::from_secs(1);

impl RuntimeClock {
    pub(crate) fn new(runtime: Handle) -> Self {
        Self { runtime, origin: Instant::now(), wall: wall_now() }
    }
}

/// The time of day; in a simulation always the same.
fn wall_now() -> SystemTime {
    #[cfg(feature = "conformance")]
    if crate::random::is_repeated() {
        return SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    }
    SystemTime::now()
}

impl Clock for RuntimeClock {
    fn now(&self) -> Moment {
        // `Instant::now` asks the runtime of the calling thread, which may be another one.
        let _entered = self.runtime.enter();
        Moment::ZERO + OFFSET + self.origin.elapsed()
    }

    fn wall(&self) -> SystemTime {
        self.wall + self.now().since(Moment::ZERO + OFFSET)
    }

    fn sleep_until(&self, until: Moment) -> Sleep {
        let _entered = self.runtime.enter();
        let wait = until.since(Moment::ZERO + OFFSET);
        match self.origin.checked_add(wait) {
            Some(at) if until != Moment::NEVER => Box::pin(tokio::time::sleep_until(at)),
            _ => Box::pin(std::future::pending()),
        }
    }
}

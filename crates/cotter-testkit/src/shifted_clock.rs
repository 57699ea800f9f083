//! A clock whose time of day is wrong.

use cotter::clock::{Clock, Moment, Sleep};
use std::time::{Duration, Instant, SystemTime};

/// The clock of this process, with another time of day. Sleeps need a runtime.
#[derive(Debug)]
pub(crate) struct ShiftedClock {
    origin: Instant,
    ahead_ms: i64,
}

/// The origin is not zero, so that a moment shortly before the start can be told from none.
const OFFSET: Duration = Duration::from_secs(1);

impl ShiftedClock {
    pub(crate) fn new(ahead_ms: i64) -> Self {
        Self { origin: Instant::now(), ahead_ms }
    }
}

impl Clock for ShiftedClock {
    fn now(&self) -> Moment {
        Moment::ZERO + OFFSET + self.origin.elapsed()
    }

    fn wall(&self) -> SystemTime {
        let gap = Duration::from_millis(self.ahead_ms.unsigned_abs());
        let now = SystemTime::now();
        if self.ahead_ms < 0 { now - gap } else { now + gap }
    }

    fn sleep_until(&self, until: Moment) -> Sleep {
        let left = until.since(self.now()).min(Duration::from_secs(1_000_000));
        Box::pin(tokio::time::sleep(left))
    }
}

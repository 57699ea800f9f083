//! The waiters in a row. Moments are those of the server's clock, since 1970.

use crate::Moment;
use crate::stores::shared::lock_state::{self, Now, Waiter};
use crate::stores::shared::sql::{AskText, Asks, keeps_place};
use std::time::{Duration, SystemTime};

pub(super) type Lock = lock_state::Lock<Asking>;

/// A waiter that asks again and again, mostly from another host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asking {
    /// It keeps its place until then.
    until: Moment,
}

impl Asking {
    pub(super) fn at(now: Moment) -> Self {
        Self { until: keeps_place(now) }
    }
}

impl Waiter for Asking {
    const IS_SERVED: bool = false;

    fn wake(&self) {}

    fn settle(&mut self, now: Moment) {
        self.until = self.until.min(keeps_place(now));
    }

    fn is_listening(&self, now: Moment) -> bool {
        self.until > now
    }
}

impl Asks for Asking {
    fn write(&self) -> AskText {
        AskText { asks_until: self.until.as_nanos(), pid: None, pid_namespace: None }
    }

    fn read(text: AskText) -> Self {
        Self { until: Moment::from_nanos(text.asks_until) }
    }
}

/// The server's time.
pub(super) fn now(micros: u64) -> Now {
    Now { at: Moment::from_nanos(micros.saturating_mul(1000)), micros }
}

/// The time of day at a moment of the server's clock.
pub(super) fn wall(now: Now) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(now.micros)
}

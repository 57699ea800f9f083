//! The store's clock, as it is known here.

use crate::UnixTime;
use cotter::{Client, Clock, Moment, Sleep};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What the store's clock shows, between one question and the next. Kept on a clock that nobody steps.
#[derive(Debug)]
pub(crate) struct StoreClock {
    client: Client,
    clock: Arc<dyn Clock>,
    reading: Mutex<Reading>,
}

/// The store's clock showed at least `store` at this moment.
#[derive(Debug, Clone, Copy)]
struct Reading {
    store: UnixTime,
    at: Moment,
    /// How far this host's time of day is off.
    off: Duration,
}

impl Reading {
    fn store_at(&self, now: Moment) -> UnixTime {
        self.store + now.since(self.at)
    }
}

impl StoreClock {
    /// Until it is asked, the time of day of this host.
    pub(crate) fn new(client: &Client) -> Self {
        let clock = client.clock();
        let reading = Reading { store: clock.wall().into(), at: clock.now(), off: Duration::ZERO };
        Self { client: client.clone(), clock, reading: Mutex::new(reading) }
    }

    pub(crate) fn now(&self) -> UnixTime {
        self.reading().store_at(self.clock.now())
    }

    /// Asks the store.
    pub(crate) async fn measure(&self) -> cotter::Result<UnixTime> {
        let before = self.clock.now();
        let answer = self.client.time().await?;
        let (at, wall) = (self.clock.now(), UnixTime::from(self.clock.wall()));
        let travel = at.since(before);
        let mut reading = self.reading();
        // By now it shows something between the answer and the answer plus the time that was spent with asking.
        let (least, most) = answer.map_or((wall, wall), |t| (t.into(), UnixTime::from(t) + travel));
        let known = reading.store_at(at);
        let store = if (least..=most).contains(&known) { known } else { least };
        let off = wall.since(most).max(least.since(wall));
        *reading = Reading { store, at, off };
        Ok(store)
    }

    /// How far this host's time of day was off at the last question.
    pub(crate) fn off(&self) -> Duration {
        self.reading().off
    }

    /// Completes when the store's clock shows `at`, as far as it is known now.
    pub(crate) fn sleep_until(&self, at: UnixTime) -> Sleep {
        let reading = *self.reading();
        let early = reading.store.since(at);
        let moment = reading.at + at.since(reading.store);
        self.clock.sleep_until(if early.is_zero() { moment } else { Moment::ZERO })
    }

    /// Completes after `d`.
    pub(crate) fn sleep(&self, d: Duration) -> Sleep {
        self.clock.sleep_until(self.clock.now() + d)
    }

    fn reading(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

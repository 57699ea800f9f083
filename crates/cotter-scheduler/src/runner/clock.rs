//! A local estimate of the store's clock.

use crate::UnixTime;
use cotter::Client;
use cotter::clock::{Clock, Moment, Sleep};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// An estimate of the store's clock between two queries, based on a clock that is never stepped.
#[derive(Debug)]
pub(crate) struct StoreClock {
    client: Client,
    clock: Arc<dyn Clock>,
    reading: Mutex<Reading>,
    /// Notified when a query has shown that the estimate was wrong.
    corrected: watch::Sender<()>,
}

/// The store's clock showed at least `store` at this moment.
#[derive(Debug, Clone, Copy)]
struct Reading {
    store: UnixTime,
    at: Moment,
    /// The offset of this host's time of day.
    off: Duration,
    /// Whether the store has no clock, so that this host's time of day takes its place.
    is_of_this_host: bool,
}

impl Reading {
    fn store_at(&self, now: Moment) -> UnixTime {
        self.store + now.since(self.at)
    }
}

impl StoreClock {
    /// Starts with the time of day of this host, until the store is queried.
    pub(crate) fn new(client: &Client) -> Self {
        let clock = client.clock();
        let (store, at, off) = (clock.wall().into(), clock.now(), Duration::ZERO);
        let reading = Reading { store, at, off, is_of_this_host: false };
        Self {
            client: client.clone(),
            clock,
            reading: Mutex::new(reading),
            corrected: watch::Sender::new(()),
        }
    }

    pub(crate) fn now(&self) -> UnixTime {
        self.reading().store_at(self.clock.now())
    }

    /// Queries the store.
    pub(crate) async fn measure(&self) -> cotter::Result<UnixTime> {
        let before = self.clock.now();
        let answer = self.client.time().await?;
        let (at, wall) = (self.clock.now(), UnixTime::from(self.clock.wall()));
        let travel = at.since(before);
        let mut reading = self.reading();
        // By now it is between the answer and the answer plus the round trip.
        let (least, most) = answer.map_or((wall, wall), |t| (t.into(), UnixTime::from(t) + travel));
        let known = reading.store_at(at);
        let store = if (least..=most).contains(&known) { known } else { least };
        let off = wall.since(most).max(least.since(wall));
        *reading = Reading { store, at, off, is_of_this_host: answer.is_none() };
        drop(reading);
        if store != known {
            self.corrected.send_replace(());
        }
        Ok(store)
    }

    /// How long ago the store was queried.
    pub(crate) fn age(&self) -> Duration {
        self.clock.now().since(self.reading().at)
    }

    /// The offset of this host's time of day at the last query.
    pub(crate) fn off(&self) -> Duration {
        self.reading().off
    }

    /// Whether this host's time of day takes the place of the store's clock.
    pub(crate) fn is_of_this_host(&self) -> bool {
        self.reading().is_of_this_host
    }

    /// Completes at this time, and never if there is none.
    pub(crate) async fn sleep_until_some(&self, at: Option<UnixTime>) {
        match at {
            Some(at) => self.sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    /// Completes when the estimated store's clock reaches `at`, also if the estimate is corrected meanwhile.
    pub(crate) async fn sleep_until(&self, at: UnixTime) {
        let mut corrected = self.corrected.subscribe();
        loop {
            let reading = *self.reading();
            let early = reading.store.since(at);
            let moment = reading.at + at.since(reading.store);
            let sleep = self.clock.sleep_until(if early.is_zero() { moment } else { Moment::ZERO });
            tokio::select! {
                () = sleep => return,
                // The sender lives as long as we do.
                _ = corrected.changed() => {}
            }
        }
    }

    /// Completes after `d`.
    pub(crate) fn sleep(&self, d: Duration) -> Sleep {
        self.clock.sleep_until(self.clock.now() + d)
    }

    fn reading(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

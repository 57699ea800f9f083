//! The time that members have for an answer.

use super::seats::Seats;
use crate::Result;
use std::time::Duration;

/// A shorter time limit would find every member silent.
const MIN_TIMEOUT: Duration = Duration::from_millis(2);
/// A timer that is this late is on time: clocks of runtimes count milliseconds.
const ON_TIME: Duration = Duration::from_millis(2);
/// A runtime that is late every time is not waited for any longer.
const EXTENSIONS: usize = 4;

impl Seats {
    /// The time that a member may take for an answer about a lease of this length.
    pub(super) fn limit(&self, ttl: Duration) -> Duration {
        self.shared.timeout.min(ttl / 20).max(MIN_TIMEOUT)
    }

    /// Completes when who has not answered is silent.
    ///
    /// A runtime that was busy wakes its timers before it has sent what was to be sent and read what has arrived, so a late
    /// timer says nothing about the members: they get the time again that the runtime has missed.
    pub(super) async fn silence(&self, limit: Duration) -> bool {
        // The clock is not asked if everybody answers at once.
        let mut end = self.now() + limit;
        for _ in 0..=EXTENSIONS {
            self.host.clock().sleep_until(end).await;
            let late = self.now().since(end);
            if late <= ON_TIME {
                break;
            }
            end = self.now() + late.min(limit);
        }
        true
    }

    /// For members that are only slower than others.
    pub(super) async fn pause(&self, d: Duration) {
        self.host.clock().sleep_until(self.now() + d).await;
    }

    /// Whether the members that are waited for have answered: all that are not known to be silent.
    pub(super) fn have_answered<T>(&self, seats: &[usize], answers: &[Option<Result<T>>]) -> bool {
        let awake = self.awake();
        answers.iter().zip(seats).all(|(answer, seat)| answer.is_some() || !awake.contains(seat))
    }
}

//! When the store has last answered.

use super::Metrics;
use cotter::Client;
use std::sync::{Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// The longest pause between two questions.
const MAX_PAUSE: Duration = Duration::from_secs(10);

pub(super) struct Health {
    limit: Duration,
    answered: Mutex<Option<Instant>>,
}

impl Health {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, answered: Mutex::default() }
    }

    /// Records an answer.
    pub(super) fn answered(&self) {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// The time since the last answer; `None` if there was none.
    pub(super) fn silence(&self) -> Option<Duration> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner).map(|at| at.elapsed())
    }

    pub(super) fn is_healthy(&self) -> bool {
        self.silence().is_some_and(|silence| silence <= self.limit)
    }

    /// Several questions fit into the limit, so that a single slow answer is no failure.
    fn pause(&self) -> Duration {
        (self.limit / 4).min(MAX_PAUSE)
    }
}

/// Asks the store now and then for as long as the metrics are served. The runner asks it only when something is due.
pub(super) async fn ask(client: Client, group: String, metrics: Weak<Metrics>) {
    loop {
        let Some(pause) = metrics.upgrade().map(|metrics| metrics.health.pause()) else { return };
        sleep(pause).await;
        // The note of the group is read from every store; the time is not.
        let answer = timeout(pause.max(Duration::from_secs(1)), client.note_at(&group, "group")).await;
        if let (Ok(Ok(_)), Some(metrics)) = (answer, metrics.upgrade()) {
            metrics.health.answered();
        }
    }
}

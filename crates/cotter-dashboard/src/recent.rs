//! What was last heard of the store, however many ask for it.

use cotter_console::chain;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

/// A store that has not answered for this long is shown as silent. Its own limit is usually shorter.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

/// The answer of the store, or why there is none.
pub(crate) async fn in_time<T, E: Error>(
    answer: impl IntoFuture<Output = Result<T, E>>,
) -> Result<T, String> {
    match timeout(LIMIT, answer).await {
        Ok(answer) => answer.map_err(|error| chain(&error)),
        Err(_) => Err(format!("it has not answered for {} s", LIMIT.as_secs())),
    }
}

/// An answer that is asked for anew when somebody looks and it is older than a period. Nobody asks while nobody looks.
#[derive(Debug)]
pub(crate) struct Recent<T> {
    period: Duration,
    known: Mutex<(Option<Instant>, Arc<T>)>,
}

impl<T> Recent<T> {
    /// Nothing was heard so far.
    pub(crate) fn new(period: Duration, nothing: T) -> Self {
        Self { period, known: Mutex::new((None, Arc::new(nothing))) }
    }

    /// The last answer, or a new one, which is made of the last one. All who look in the meantime wait for it.
    ///
    /// Cancel safety: whoever looks next asks anew, a period later.
    pub(crate) async fn get(&self, ask: impl AsyncFnOnce(&T) -> T) -> Arc<T> {
        let mut known = self.known.lock().await;
        if known.0.is_some_and(|asked| asked.elapsed() < self.period) {
            return known.1.clone();
        }
        known.0 = Some(Instant::now());
        let answer = Arc::new(ask(&known.1).await);
        *known = (Some(Instant::now()), answer.clone());
        answer
    }

    /// Has the next one who looks ask anew: what was heard is known not to be so any more.
    pub(crate) async fn is_over(&self) {
        self.known.lock().await.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn whoever_gives_up_does_not_ask_for_others() {
        let period = Duration::from_secs(1);
        let recent = Recent::new(period, 0);
        let hangs = recent.get(async |_| std::future::pending().await);
        assert!(tokio::time::timeout(period / 2, hangs).await.is_err());
        assert_eq!(*recent.get(async |old| old + 1).await, 0, "violation[a-listing-for-each]");
        tokio::time::sleep(period).await;
        assert_eq!(*recent.get(async |old| old + 1).await, 1);
    }
}

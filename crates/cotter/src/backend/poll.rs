//! The only polling loop.

use crate::backend::Until;
use crate::{Clock, Moment, Result};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Something that may not work yet.
pub trait Attempt: Send {
    /// What it yields when it works.
    type Done: Send;

    /// One try. `None`: not yet.
    ///
    /// # Errors
    /// Ends the polling.
    fn attempt(&mut self) -> impl Future<Output = Result<Option<Self::Done>>> + Send;

    /// Completes when another try is worth it. Made before each try, so that what happens between the try and the wait
    /// is not missed; it may still lie in both directions.
    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// How long to rely on the hint alone.
    fn period(&self) -> Duration;
}

/// Tries until it works or the time is over; between tries it waits for a hint or for the next poll.
///
/// The timed poll is the truth, the hint only makes it faster. There is always one more try after the time is over,
/// because the lock may have come free while this task was not scheduled.
///
/// # Errors
/// Whatever the attempt answers with.
///
/// Dropping the future ends the polling; what an attempt has sent is for the backend to undo.
pub async fn until<A: Attempt>(clock: &dyn Clock, until: Until, attempt: &mut A) -> Result<Option<A::Done>> {
    let last = until.moment().unwrap_or(Moment::ZERO);
    loop {
        let hint = attempt.hint();
        let over = clock.now() >= last;
        if let Some(done) = attempt.attempt().await? {
            return Ok(Some(done));
        }
        if over {
            return Ok(None);
        }
        let next = last.min(clock.now() + attempt.period());
        tokio::select! {
            () = hint => {}
            () = clock.sleep_until(next) => {}
        }
    }
}

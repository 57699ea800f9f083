//! Pauses between retries.

use std::time::Duration;

/// A sequence of pauses, each twice as long as the one before, up to a limit.
///
/// ```
/// # use cotter::backend::Backoff;
/// # use std::time::Duration;
/// let ms = Duration::from_millis;
/// let mut backoff = Backoff::new(ms(10), ms(50));
/// let pauses = [(); 4].map(|()| backoff.pause());
/// assert_eq!(pauses, [ms(10), ms(20), ms(40), ms(50)]);
/// backoff.reset();
/// assert_eq!(backoff.pause(), ms(10));
/// ```
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    max: Duration,
    next: Duration,
    jitter: f64,
}

impl Backoff {
    /// Creates pauses from `first` up to `max`.
    pub const fn new(first: Duration, max: Duration) -> Self {
        Self { first, max, next: first, jitter: 0.0 }
    }

    /// Lengthens or shortens each pause by a random share of its length, up to `share` (between 0 and 1), so that
    /// processes that failed together do not retry together.
    #[must_use]
    pub const fn with_jitter(self, share: f64) -> Self {
        Self { jitter: share.clamp(0.0, 1.0), ..self }
    }

    /// Returns the length of the next pause.
    pub fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.max);
        if self.jitter == 0.0 {
            return pause;
        }
        pause.mul_f64(crate::random::between(1.0 - self.jitter, 1.0 + self.jitter))
    }

    /// Restarts from the first pause, after a success.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_stays_within_its_share() {
        let first = Duration::from_millis(100);
        for _ in 0..100 {
            let pause = Backoff::new(first, first).with_jitter(0.25).pause();
            assert!(pause >= first.mul_f64(0.75) && pause <= first.mul_f64(1.25));
        }
    }
}

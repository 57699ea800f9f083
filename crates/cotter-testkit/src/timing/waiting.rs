//! Until something has happened.

use std::fmt::Display;
use std::thread;
use std::time::{Duration, Instant};

/// The end of a wait for what must happen and may take its time: no busy machine comes near it.
pub const FAR: Duration = Duration::from_secs(30);

/// Until it holds, or the test fails.
///
/// # Panics
/// When it does not hold for [`FAR`].
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + FAR;
    while !holds() {
        assert!(Instant::now() < end, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// What the future ends with, or the test fails. For an end that must come soon as well, a [`Stopwatch`](super::Stopwatch) judges
/// how long it took.
///
/// # Panics
/// When it does not end within [`FAR`].
pub async fn happens<T>(what: impl Display, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(FAR, future).await {
        Ok(end) => end,
        Err(_) => panic!("in vain: {what}"),
    }
}

/// [`eventually`] outside of a runtime.
///
/// # Panics
/// When it does not hold for [`FAR`].
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let found = first_within(FAR, || holds().then_some(()));
    assert!(found.is_some(), "in vain: {what}");
}

/// Looks again and again, for at most `limit`, until there is a result.
pub fn first_within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= end {
            return None;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

//! The seed of tests that draw at random, and how long they go on.

use cotter_testkit::is_long;
use std::time::{Duration, Instant, SystemTime};

/// The same each time: a test is not red for a change that has nothing to do with it. Runs of full length look for more.
pub(crate) fn seed() -> u64 {
    let since_1970 = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    if is_long() { since_1970().as_nanos() as u64 } else { 1 }
}

/// On a busy machine less happens in the same time: it goes on until it is enough. The far end is ten times away.
pub(crate) fn is_over(start: Instant, length: Duration, is_enough: bool) -> bool {
    let far = if is_enough { length } else { length * 10 };
    Instant::now() >= start + far
}

#[test]
fn what_is_not_enough_goes_on_to_the_far_end() {
    let start = Instant::now();
    let hour = Duration::from_secs(3_600);
    assert!(!is_over(start, hour, false) && !is_over(start, hour, true));
    assert!(is_over(start, Duration::ZERO, true) && is_over(start, Duration::ZERO, false));
    std::thread::sleep(Duration::from_millis(2));
    assert!(is_over(start, Duration::from_millis(1), true) && !is_over(Instant::now(), hour, false));
}

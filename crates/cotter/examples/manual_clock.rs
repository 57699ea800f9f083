//! A test that moves the clock by hand; `advance` returns once the engine has nothing left to do.
#![allow(clippy::print_stdout, reason = "an example prints")]

use cotter::{Client, Lease, LossCause, ManualClock, Result};
use std::time::Duration;

fn main() -> Result<()> {
    let clock = ManualClock::new();
    let client = Client::builder().clock(clock.clone()).connect("memory:").wait()?;
    let lease = Lease::renewed(Duration::from_secs(30)).max_hold(Duration::from_secs(3600));
    let guard = client.mutex("nightly").lease(lease).lock().wait()?;
    clock.advance(Duration::from_secs(3599));
    assert!(guard.is_valid());
    clock.advance(Duration::from_secs(1));
    assert_eq!(guard.check().unwrap_err().cause, LossCause::MaxHold);
    println!("an hour passed in no time");
    Ok(())
}
